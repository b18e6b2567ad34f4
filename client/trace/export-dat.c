/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes trace.dat version 6 (trace-cmd.dat.v6(5)), which every trace-cmd and KernelShark can
 * read. Called by export. Sub-buffers are written as the kernel wrote them. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/cleanup.h"
#include "trace/dat-block.h"
#include "trace/export-dat.h"

/* The size of a chunk if its last sub-buffer were complete. */
static uint64_t dat_plain_full_size(const Trace *trace, const TraceChunk *chunk) {
        uint64_t unit = trace->stream.subbuf_size;

        return (chunk->size + unit - 1) / unit * unit;
}

static uint64_t dat_plain_lane_size(const Trace *trace, const TraceLane *lane) {
        uint64_t size = 0;

        for (size_t i = 0; i < lane->n_chunks; i++)
                size += dat_plain_full_size(trace, &lane->chunks[i]);
        return size;
}

static uint64_t dat_plain_align(const Trace *trace, uint64_t offset) {
        /* At least the largest page size, even with smaller sub-buffers: trace-cmd maps them. */
        uint64_t unit = MAX_OF(trace->stream.subbuf_size, (size_t)65536);

        return (offset + unit - 1) / unit * unit;
}

/* lanes: by CPU, NULL for a CPU without data. Returns the file's end offset. */
static uint64_t dat_plain_put_table(FILE *out,
                const Trace *trace,
                TraceLane *const *lanes,
                unsigned n_cpus,
                uint64_t offset) {
        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                uint64_t size = lanes[cpu] ? dat_plain_lane_size(trace, lanes[cpu]) : 0;

                dat_put_number(out, offset, 8);
                dat_put_number(out, size, 8);
                offset = dat_plain_align(trace, offset + size);
        }
        return offset;
}

/* A cut sub-buffer is filled up with a hole. */
static int dat_plain_put_block(FILE *out, const DatBlock *block) {
        dat_put(out, block->data, block->used);
        if (block->used < block->size &&
                        fseeko(out, (off_t)(block->size - block->used), SEEK_CUR) < 0)
                return -errno;
        return dat_put_result(out);
}

static int dat_plain_put_chunk(FILE *out, DatBlock *block, const TraceChunk *chunk, uint64_t lost) {
        uint64_t place = 0;

        for (;;) {
                int r = dat_block_read(block, chunk, &place, lost);

                if (r <= 0)
                        return r;
                r = dat_plain_put_block(out, block);
                if (r < 0)
                        return r;
        }
}

static int dat_plain_put_lane(FILE *out, DatBlock *block, const TraceLane *lane) {
        uint64_t lost = 0;

        for (size_t i = 0; i < lane->n_chunks; i++) {
                const TraceChunk *chunk = &lane->chunks[i];

                lost += chunk->lost;
                block->counts->n_lost += chunk->lost;
                if (chunk->size == 0)
                        continue;
                int r = dat_plain_put_chunk(out, block, chunk, lost);
                if (r < 0)
                        return r;
                lost = 0;
        }
        return 0;
}

static int dat_plain_put_data(FILE *out,
                Trace *trace,
                TraceLane *const *lanes,
                unsigned n_cpus,
                uint64_t offset,
                DatCounts *counts) {
        _cleanup_(dat_block_clear) DatBlock block = { .trace = trace, .counts = counts };

        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                if (!lanes[cpu])
                        continue;
                if (fseeko(out, (off_t)offset, SEEK_SET) < 0)
                        return -errno;
                int r = dat_plain_put_lane(out, &block, lanes[cpu]);
                if (r < 0)
                        return r;
                offset = dat_plain_align(trace, offset + dat_plain_lane_size(trace, lanes[cpu]));
        }
        return 0;
}

static int dat_plain_put_head(FILE *out, const Trace *trace, unsigned n_cpus, bool with_date) {
        static const uint8_t magic[] = "\x17\x08\x44tracing6";
        int r = 0;

        dat_put(out, magic, sizeof(magic));
        dat_put_number(out, 0, 1); /* little-endian */
        dat_put_number(out, trace->decode->long_size, 1);
        dat_put_number(out, trace->stream.subbuf_size, 4);
        for (DatSection section = DAT_HEADER_INFO; r == 0 && section < _DAT_SECTION_N; section++)
                r = dat_put_section(out, trace, section);
        if (r < 0)
                return r;
        dat_put_number(out, n_cpus, 4);
        dat_put(out, "options  ", 10);
        r = dat_put_options(out, trace, with_date);
        dat_put_number(out, 0, 2);
        dat_put(out, "flyrecord", 10);
        return r;
}

int dat_write_plain(Trace *trace, FILE *out, bool with_date, DatCounts *ret) {
        _cleanup_free_ TraceLane **lanes = NULL;
        unsigned n_cpus = trace->decode->n_cpus;
        char clock[64];

        if (trace->n_lanes > 0)
                n_cpus = MAX_OF(n_cpus, trace->lanes[trace->n_lanes - 1]->cpu + 1);
        lanes = calloc(n_cpus, sizeof(*lanes));
        if (!lanes)
                return -ENOMEM;
        for (size_t i = 0; i < trace->n_lanes; i++)
                lanes[trace->lanes[i]->cpu] = trace->lanes[i];
        int r = dat_plain_put_head(out, trace, n_cpus, with_date);
        if (r < 0)
                return r;
        snprintf(clock, sizeof(clock), "[%s]\n", trace->decode->clock);
        uint64_t start = dat_plain_align(
                        trace, (uint64_t)ftello(out) + (uint64_t)n_cpus * 16 + 8 + strlen(clock));
        uint64_t end = dat_plain_put_table(out, trace, lanes, n_cpus, start);
        dat_put_text(out, clock);
        r = dat_plain_put_data(out, trace, lanes, n_cpus, start, ret);
        if (r < 0)
                return r;
        if (fflush(out) != 0 || ftruncate(fileno(out), (off_t)end) < 0)
                return -errno;
        return dat_put_result(out);
}
