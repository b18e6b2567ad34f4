/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Gets the times of the first and the last record. Returns 1, 0 when there is no record, or -errno.
 * Must be called before the first trace_next(). */
int trace_span_get(Trace *trace, uint64_t *ret_first, uint64_t *ret_last);
/* Moves each CPU to the last sub-buffer that begins at or before ts, so that the data before it is
 * not read. Must be called before the first trace_next(). Returns 0 or -errno. */
int trace_span_seek(Trace *trace, uint64_t ts);
