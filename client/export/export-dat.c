/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes trace.dat version 6 (trace-cmd.dat.v6(5)), which every trace-cmd and KernelShark can
 * read. Called by export. Full sub-buffers are written as the kernel wrote them. A sub-buffer that
 * was read early is short, and the file would have to fill it up. So the records of short ones that
 * follow each other are joined, with the time between them as an entry of the kernel's format
 * (dat-put.c). A sub-buffer after lost events stays at the begin of one, where readers look for
 * their number. The places of the data are written last. */

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "export/dat-block.h"
#include "export/export-dat.h"
#include "interfaces/cleanup.h"

/* Where a CPU's data is in the file. */
typedef struct DatPlace {
        uint64_t offset, size;
} DatPlace;

/* Writes the data of one CPU. */
typedef struct DatLane {
        FILE *out;
        const Trace *trace;
        uint64_t size;         /* written */
        uint8_t *short_subbuf; /* it waits for records that follow; NULL: none was short yet */
        size_t short_used;     /* 0: none waits */
        uint64_t short_end;    /* time of its last entry */
} DatLane;

static uint64_t dat_plain_align(const Trace *trace, uint64_t offset) {
        /* At least the largest page size, even with smaller sub-buffers: trace-cmd maps them. */
        uint64_t unit = MAX_OF(trace->stream.subbuf_size, (size_t)65536);

        return (offset + unit - 1) / unit * unit;
}

static void dat_plain_put_table(FILE *out, const DatPlace *places, unsigned n_cpus) {
        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                dat_put_number(out, places[cpu].offset, 8);
                dat_put_number(out, places[cpu].size, 8);
        }
}

/* A cut sub-buffer is filled up with a hole. */
static int dat_plain_put_subbufs(DatLane *lane, const uint8_t *data, size_t used, size_t size) {
        dat_put(lane->out, data, used);
        if (used < size && fseeko(lane->out, (off_t)(size - used), SEEK_CUR) < 0)
                return -errno;
        lane->size += size;
        return dat_put_result(lane->out);
}

static int dat_plain_end_short(DatLane *lane) {
        size_t used = lane->short_used;

        lane->short_used = 0;
        return used > 0 ? dat_plain_put_subbufs(lane,
                                          lane->short_subbuf,
                                          used,
                                          lane->trace->stream.subbuf_size)
                        : 0;
}

/* Writes whole sub-buffers as they are. */
static int dat_plain_put_whole(DatLane *lane, const uint8_t *data, size_t used, size_t size) {
        int r = size > 0 ? dat_plain_end_short(lane) : 0;

        return r < 0 || size == 0 ? r : dat_plain_put_subbufs(lane, data, used, size);
}

/* Returns whether other records may stand before and after those of a sub-buffer. Then *ret is the
 * time of its last entry. */
static bool dat_plain_may_join(const Trace *trace, const uint8_t *subbuf, uint64_t *ret) {
        const uint8_t *data;
        int64_t missed;
        uint32_t size;
        uint64_t ts;
        Subbuf walk;

        subbuf_open(&walk, subbuf, trace->stream.subbuf_size, trace->decode->long_size, &missed);
        while (subbuf_next(&walk, &data, &size, &ts))
                ;
        *ret = walk.ts;
        return missed == 0 && !walk.is_damaged && !walk.is_padded && walk.next == walk.size;
}

/* Appends a sub-buffer's records to those of the short one. Returns false when they do not fit, or
 * are older. */
static bool dat_plain_join(DatLane *lane, const uint8_t *subbuf, size_t committed) {
        size_t head = 8 + (size_t)lane->trace->decode->long_size;
        uint64_t begin = dat_get_time(subbuf);
        uint64_t delta = begin - lane->short_end;

        if (lane->short_used == 0 || begin < lane->short_end || delta >= TIME_EXTEND_END ||
                        lane->short_used + TIME_EXTEND_SIZE + committed >
                                        lane->trace->stream.subbuf_size)
                return false;
        uint8_t *at = lane->short_subbuf + lane->short_used;
        dat_make_time_extend(at, delta);
        memcpy(at + TIME_EXTEND_SIZE, subbuf + head, committed);
        lane->short_used += TIME_EXTEND_SIZE + committed;
        dat_set_committed(lane->short_subbuf, lane->short_used - head);
        return true;
}

static int dat_plain_put_short(DatLane *lane, const uint8_t *subbuf, size_t used) {
        size_t unit = lane->trace->stream.subbuf_size,
               head = 8 + (size_t)lane->trace->decode->long_size;
        size_t committed = dat_get_committed(subbuf);
        uint64_t end;

        if (!dat_plain_may_join(lane->trace, subbuf, &end))
                return dat_plain_put_whole(lane, subbuf, used, unit);
        if (!dat_plain_join(lane, subbuf, committed)) {
                int r = dat_plain_end_short(lane);
                if (r < 0)
                        return r;
                if (!lane->short_subbuf && !(lane->short_subbuf = malloc(unit)))
                        return -ENOMEM;
                memcpy(lane->short_subbuf, subbuf, head + committed);
                lane->short_used = head + committed;
        }
        lane->short_end = end;
        return 0;
}

/* Full sub-buffers are written as they are. The records of short ones are joined. */
static int dat_plain_put_block(DatLane *lane, const DatBlock *block) {
        size_t unit = lane->trace->stream.subbuf_size, written = 0;
        int r = 0;

        for (size_t at = 0; r == 0 && at < block->size; at += unit) {
                if (dat_get_committed(block->data + at) > unit / 4 * 3)
                        continue;
                r = dat_plain_put_whole(lane, block->data + written, at - written, at - written);
                written = at + unit;
                r = r
                                    ?: dat_plain_put_short(lane,
                                                       block->data + at,
                                                       MIN_OF(unit, block->used - at));
        }
        if (r < 0 || written >= block->size)
                return r;
        return dat_plain_put_whole(
                        lane, block->data + written, block->used - written, block->size - written);
}

static int dat_plain_put_chunk(DatLane *lane,
                DatBlock *block,
                const TraceChunk *chunk,
                uint64_t lost) {
        uint64_t place = 0;

        for (;;) {
                int r = dat_block_read(block, chunk, &place, lost);

                if (r <= 0)
                        return r;
                r = dat_plain_put_block(lane, block);
                if (r < 0)
                        return r;
        }
}

static int dat_plain_put_chunks(DatLane *lane, DatBlock *block, const TraceLane *from) {
        uint64_t lost = 0;

        for (size_t i = 0; i < from->n_chunks; i++) {
                const TraceChunk *chunk = &from->chunks[i];

                lost += chunk->lost;
                block->counts->n_lost += chunk->lost;
                if (chunk->size == 0)
                        continue;
                int r = dat_plain_put_chunk(lane, block, chunk, lost);
                if (r < 0)
                        return r;
                lost = 0;
        }
        return dat_plain_end_short(lane);
}

/* lanes: by CPU, NULL for a CPU without data. Writes the places of the CPUs' data. */
static int dat_plain_put_data(FILE *out,
                Trace *trace,
                TraceLane *const *lanes,
                unsigned n_cpus,
                DatPlace *places,
                DatCounts *counts) {
        _cleanup_(dat_block_clear) DatBlock block = { .trace = trace, .counts = counts };
        int r = 0;

        for (unsigned cpu = 0; r == 0 && cpu < n_cpus; cpu++) {
                DatLane lane = { .out = out, .trace = trace };

                if (cpu > 0)
                        places[cpu].offset = dat_plain_align(
                                        trace, places[cpu - 1].offset + places[cpu - 1].size);
                if (!lanes[cpu])
                        continue;
                if (fseeko(out, (off_t)places[cpu].offset, SEEK_SET) < 0)
                        return -errno;
                r = dat_plain_put_chunks(&lane, &block, lanes[cpu]);
                free(lane.short_subbuf);
                places[cpu].size = lane.size;
        }
        return r;
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

/* Allocates the blocks of the data, which on ext4 makes its writes cheaper: see
 * daemon/consumer/preallocation.c. The last truncation frees what is too much. */
static void dat_plain_allocate(FILE *out, const Trace *trace) {
        uint64_t size = 0;
        struct statfs fs;

        for (size_t i = 0; i < trace->n_lanes; i++)
                for (size_t k = 0; k < trace->lanes[i]->n_chunks; k++)
                        size += trace->lanes[i]->chunks[k].size;
        if (size > 0 && size < INT64_MAX && fstatfs(fileno(out), &fs) == 0 &&
                        fs.f_type == EXT4_SUPER_MAGIC)
                (void)fallocate(fileno(out), FALLOC_FL_KEEP_SIZE, 0, (off_t)size);
}

int dat_write_plain(Trace *trace, FILE *out, bool with_date, DatCounts *ret) {
        _cleanup_free_ TraceLane **lanes = NULL;
        _cleanup_free_ DatPlace *places = NULL;
        unsigned n_cpus = trace->decode->n_cpus;
        char clock[64];

        if (trace->n_lanes > 0)
                n_cpus = MAX_OF(n_cpus, trace->lanes[trace->n_lanes - 1]->cpu + 1);
        lanes = calloc(n_cpus, sizeof(*lanes));
        places = calloc(n_cpus, sizeof(*places));
        if (!lanes || !places)
                return -ENOMEM;
        for (size_t i = 0; i < trace->n_lanes; i++)
                lanes[trace->lanes[i]->cpu] = trace->lanes[i];
        int r = dat_plain_put_head(out, trace, n_cpus, with_date);
        if (r < 0)
                return r;
        snprintf(clock, sizeof(clock), "[%s]\n", trace->decode->clock);
        off_t table = ftello(out);
        places[0].offset = dat_plain_align(
                        trace, (uint64_t)table + (uint64_t)n_cpus * 16 + 8 + strlen(clock));
        dat_plain_allocate(out, trace);
        r = dat_plain_put_data(out, trace, lanes, n_cpus, places, ret);
        if (r < 0)
                return r;
        if (fseeko(out, table, SEEK_SET) < 0)
                return -errno;
        dat_plain_put_table(out, places, n_cpus);
        dat_put_text(out, clock);
        uint64_t end = dat_plain_align(trace, places[n_cpus - 1].offset + places[n_cpus - 1].size);
        if (fflush(out) != 0 || ftruncate(fileno(out), (off_t)end) < 0)
                return -errno;
        return dat_put_result(out);
}
