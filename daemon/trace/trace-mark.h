/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Writes text among the trace's events. Does not wait. Returns -errno on failure; -EBADF: the ring
 * is full, or tracing_on is 0. */
int trace_mark(const Trace *trace, const char *text, size_t size);
