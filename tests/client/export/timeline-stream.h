/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "stream-fixture.h"

/* Adds metadata with sched:sched_switch, raw_syscalls:*, ftrace:print and ftrace:kernel_stack. */
void timeline_add_metadata(GByteArray *stream, unsigned n_cpus);
void timeline_add_switch(Page *page,
                uint64_t ts,
                int prev,
                int next,
                int prev_state,
                const char *next_comm);
void timeline_add_entry(Page *page, uint64_t ts, int tid, long number);
void timeline_add_exit(Page *page, uint64_t ts, int tid, long number, long result);
void timeline_add_mark(Page *page, uint64_t ts, int tid, const char *text);
void timeline_add_stack(Page *page, uint64_t ts, int tid, size_t n, const uint64_t *addresses);

/* Converts the stream, which must succeed. Returns what is missing (g_free). */
char *timeline_convert(const GByteArray *stream, ExportFormat format, char **ret_text);
