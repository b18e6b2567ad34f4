/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "trace/dat-section.h"
#include "trace/trace.h"

/* What was written. */
typedef struct DatCounts {
        uint64_t n_events, n_lost, n_damaged; /* n_damaged: sub-buffers with a damaged end */
} DatCounts;

/* The FILE keeps errors: dat_put_result() reports them. */
void dat_put(FILE *out, const void *data, size_t size);
void dat_put_number(FILE *out, uint64_t number, size_t size);
/* Its size in 8 bytes, then the text. */
void dat_put_text(FILE *out, const char *text);
void dat_put_option(FILE *out, unsigned id, const void *data, size_t size);
/* Returns 0, or -errno of the last write that failed. */
int dat_put_result(FILE *out);

/* Writes the content of a section. Returns 0 or -errno. */
int dat_put_section(FILE *out, const Trace *trace, DatSection section);
/* Writes the options of both versions: statistics, clock, system, version with receipt, another
 * time line of the trace, and with with_date the offset that makes times of day. Returns 0, -errno,
 * or -E2BIG as dat_put_timeline(). */
int dat_put_options(FILE *out, const Trace *trace, bool with_date);
/* The kernel's format of a sub-buffer. A time extend is an entry without data that adds to the time
 * of all entries after it. */
#define TIME_EXTEND_SIZE 8
#define TIME_EXTEND_END  (UINT64_C(1) << 59)
uint64_t dat_get_time(const uint8_t *subbuf);
/* Returns the bytes of the entries, without the flags of lost events. */
size_t dat_get_committed(const uint8_t *subbuf);
void dat_set_committed(uint8_t *subbuf, size_t committed);
/* delta: nanoseconds, less than TIME_EXTEND_END. */
void dat_make_time_extend(uint8_t at[static TIME_EXTEND_SIZE], uint64_t delta);
/* Writes lost into a sub-buffer's commit word, and the number after its records if there is
 * room. */
void dat_mark_lost(const Trace *trace, uint8_t *subbuf, uint64_t lost);
/* Adds a sub-buffer's records, and its lost events unless is_told. */
void dat_count_records(const Trace *trace,
                const uint8_t *subbuf,
                size_t size,
                bool is_told,
                DatCounts *counts);
