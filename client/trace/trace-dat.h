/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

int trace_load_dat(Trace *trace, Reason *reason);
