/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace.h"

/* For the two loaders. */
int trace_load_stream(Trace *trace, Reason *reason);
