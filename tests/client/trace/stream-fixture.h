/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "export/export.h"
#include "interfaces/frame.h"

#define FIXTURE_SUBBUF_SIZE 4096
#define FIXTURE_HELLO_ID    10
#define FIXTURE_BYTES_ID    11
/* Seconds 100.000000 of the trace's clock. */
#define FIXTURE_TS UINT64_C(100000000000)

/* A sub-buffer as the kernel lays it out. */
typedef struct Page {
        uint8_t data[FIXTURE_SUBBUF_SIZE];
        size_t used; /* behind the header */
        uint64_t ts;
} Page;

void page_init(Page *page, uint64_t ts);
/* ts: not before the last one's. */
void page_add(Page *page, uint64_t ts, const void *record, size_t size);
/* "test:hello": int number, char name[16], text */
void page_add_hello(Page *page, uint64_t ts, int pid, int number, const char *text);
/* "test:bytes": claims `claimed` bytes and has `size` */
void page_add_bytes(Page *page,
                uint64_t ts,
                int pid,
                uint32_t claimed,
                const void *bytes,
                size_t size);
/* Sets the flags of lost events; count 0: the number is not stored. */
void page_set_missed(Page *page, uint64_t count);
size_t page_size(const Page *page);

extern const char fixture_hello_format[];
extern const char fixture_bytes_format[];

/* Streams grow in a GByteArray. */
GByteArray *stream_new(void);
void stream_add_frame(GByteArray *stream,
                uint32_t type,
                uint32_t cpu,
                uint64_t lost,
                const void *data,
                size_t size);
void stream_add_json(GByteArray *stream, uint32_t type, const char *json);
void stream_add_metadata(GByteArray *stream, unsigned n_cpus);
/* With more members, each behind a comma: of the event test:bytes, and of the whole. */
void stream_add_metadata_and(GByteArray *stream,
                unsigned n_cpus,
                const char *of_event,
                const char *more);
void stream_add_page(GByteArray *stream, uint32_t cpu, uint64_t lost, const Page *page);
/* Returns the same stream with its data frames packed. */
GByteArray *stream_new_packed(const GByteArray *stream);
void stream_add_end(GByteArray *stream);
/* Two CPUs, four events, commands, statistics, end. */
GByteArray *stream_new_sample(void);

/* Runs export_file on bytes; *ret_text: what it wrote (free with g_free). */
int export_bytes(const void *data,
                size_t size,
                ExportFormat format,
                char **ret_text,
                size_t *ret_size,
                ExportSummary *ret,
                Reason *reason);
