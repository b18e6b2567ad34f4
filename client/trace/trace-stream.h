/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Used by the two loaders. */
int trace_load_stream(Trace *trace, Reason *reason);
