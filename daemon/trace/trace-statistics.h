/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

int trace_read_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret);
