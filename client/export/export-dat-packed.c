/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes trace.dat version 7 (trace-cmd.dat.v7(5)), compressed with zstd as trace-cmd does by
 * default. Called by export. A packed frame of the stream becomes a chunk of the file unchanged.
 * Other data is compressed here, and so is a packed frame after lost events, because its first
 * sub-buffer must say how many. The options come last: they say where the data is. */

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "export/dat-block.h"
#include "export/export-dat-packed.h"
#include "interfaces/cleanup.h"
#include "interfaces/frame.h"

#define LEVEL              1
#define SECTION_OPTIONS    0
#define SECTION_BUFFER     3
#define SECTION_COMPRESSED 1
#define OPTION_DONE        0
#define OPTION_BUFFER      3
#define OPTION_CPUCOUNT    8
#define CHUNK_HEAD_SIZE    8 /* the sizes of a chunk: packed, unpacked */

typedef struct PackedDat {
        FILE *out;
        Trace *trace;
        ZSTD_CCtx *context;
        DatBlock block;
        uint8_t *packed;
        size_t packed_size;                /* allocated */
        uint64_t sections[_DAT_SECTION_N]; /* their places in the file */
        uint64_t head_place;               /* of the place of the options */
} PackedDat;

static int dat_packed_reserve(PackedDat *dat, size_t size) {
        if (size <= dat->packed_size)
                return 0;
        uint8_t *packed = realloc(dat->packed, size);
        if (!packed)
                return -ENOMEM;
        dat->packed = packed;
        dat->packed_size = size;
        return 0;
}

static int dat_packed_put(PackedDat *dat, const void *data, size_t size) {
        int r = dat_packed_reserve(dat, ZSTD_compressBound(size));

        if (r < 0)
                return r;
        size_t n = ZSTD_compressCCtx(
                        dat->context, dat->packed, dat->packed_size, data, size, LEVEL);
        if (ZSTD_isError(n))
                return -ENOMEM;
        dat_put_number(dat->out, n, 4);
        dat_put_number(dat->out, size, 4);
        dat_put(dat->out, dat->packed, n);
        return dat_put_result(dat->out);
}

/* Writes the head of a section, whose size follows at its end. Returns its place. */
static uint64_t dat_packed_begin_section(PackedDat *dat, unsigned id, unsigned flags) {
        uint64_t place = (uint64_t)ftello(dat->out);

        dat_put_number(dat->out, id, 2);
        dat_put_number(dat->out, flags, 2);
        dat_put_number(dat->out, 0, 4); /* no description */
        dat_put_number(dat->out, 0, 8);
        return place;
}

/* Writes a number at an earlier place. */
static int dat_packed_patch(PackedDat *dat, uint64_t place, uint64_t number, size_t size) {
        off_t end = ftello(dat->out);

        if (fseeko(dat->out, (off_t)place, SEEK_SET) < 0)
                return -errno;
        dat_put_number(dat->out, number, size);
        return fseeko(dat->out, end, SEEK_SET) < 0 ? -errno : 0;
}

static int dat_packed_end_section(PackedDat *dat, uint64_t place) {
        return dat_packed_patch(dat, place + 8, (uint64_t)ftello(dat->out) - place - 16, 8);
}

static int dat_packed_put_head(PackedDat *dat) {
        static const uint8_t magic[] = "\x17\x08\x44tracing7";
        const char *version = ZSTD_versionString();

        dat_put(dat->out, magic, sizeof(magic));
        dat_put_number(dat->out, 0, 1); /* little-endian */
        dat_put_number(dat->out, dat->trace->decode->long_size, 1);
        dat_put_number(dat->out, dat->trace->stream.subbuf_size, 4);
        dat_put(dat->out, "zstd", sizeof("zstd"));
        dat_put(dat->out, version, strlen(version) + 1);
        dat->head_place = (uint64_t)ftello(dat->out);
        dat_put_number(dat->out, 0, 8);
        return dat_put_result(dat->out);
}

static int dat_packed_put_section(PackedDat *dat, DatSection section) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *content = open_memstream(&text, &size);

        if (!content)
                return -errno;
        int r = dat_put_section(content, dat->trace, section);
        if (fclose(content) != 0)
                r = r ?: -ENOMEM;
        if (r < 0)
                return r;
        dat->sections[section] = dat_packed_begin_section(dat, section, SECTION_COMPRESSED);
        r = dat_packed_put(dat, text, size);
        return r ?: dat_packed_end_section(dat, dat->sections[section]);
}

/* Copies a packed frame's chunk with its two sizes, which stand before the data. */
static int dat_packed_copy_chunk(PackedDat *dat, const TraceChunk *chunk) {
        size_t size = CHUNK_HEAD_SIZE + chunk->packed;

        int r = dat_packed_reserve(dat, size);
        if (r < 0)
                return r;
        r = trace_read(dat->trace, chunk->offset - CHUNK_HEAD_SIZE, dat->packed, size);
        if (r <= 0)
                return r < 0 ? r : -EIO;
        dat_put(dat->out, dat->packed, size);
        dat->block.counts->n_events += chunk->n_records;
        return dat_put_result(dat->out);
}

static int dat_packed_put_chunk(PackedDat *dat,
                const TraceChunk *chunk,
                uint64_t lost,
                uint32_t *n_chunks) {
        size_t unit = dat->trace->stream.subbuf_size;
        uint64_t place = 0;
        int r;

        if (chunk->packed > 0 && lost == 0 && chunk->size % unit == 0) {
                ++*n_chunks;
                return dat_packed_copy_chunk(dat, chunk);
        }
        while ((r = dat_block_read(&dat->block, chunk, &place, lost)) > 0) {
                ++*n_chunks;
                r = dat_packed_put(dat, dat->block.data, dat->block.size);
                if (r < 0)
                        return r;
        }
        return r;
}

static int dat_packed_put_lane(PackedDat *dat, const TraceLane *lane) {
        uint64_t place = (uint64_t)ftello(dat->out), lost = 0;
        uint32_t n_chunks = 0;

        dat_put_number(dat->out, 0, 4);
        for (size_t i = 0; i < lane->n_chunks; i++) {
                const TraceChunk *chunk = &lane->chunks[i];

                lost += chunk->lost;
                dat->block.counts->n_lost += chunk->lost;
                if (chunk->size == 0)
                        continue;
                int r = dat_packed_put_chunk(dat, chunk, lost, &n_chunks);
                if (r < 0)
                        return r;
                lost = 0;
        }
        return dat_packed_patch(dat, place, n_chunks, 4);
}

/* Writes the data of all CPUs as a section, and the option that describes it into option. */
static int dat_packed_put_data(PackedDat *dat, FILE *option) {
        uint64_t section = dat_packed_begin_section(dat, SECTION_BUFFER, SECTION_COMPRESSED);
        int r = 0;

        dat_put_number(option, section, 8);
        dat_put(option, "", 1); /* the name of the top buffer */
        dat_put(option, dat->trace->decode->clock, strlen(dat->trace->decode->clock) + 1);
        dat_put_number(option, dat->trace->stream.subbuf_size, 4);
        dat_put_number(option, dat->trace->n_lanes, 4);
        for (size_t i = 0; r == 0 && i < dat->trace->n_lanes; i++) {
                uint64_t place = (uint64_t)ftello(dat->out);

                r = dat_packed_put_lane(dat, dat->trace->lanes[i]);
                dat_put_number(option, dat->trace->lanes[i]->cpu, 4);
                dat_put_number(option, place, 8);
                dat_put_number(option, (uint64_t)ftello(dat->out) - place, 8);
        }
        return r ?: dat_packed_end_section(dat, section);
}

static int dat_packed_put_option_section(PackedDat *dat,
                const char *buffer,
                size_t buffer_size,
                bool with_date) {
        uint64_t place = dat_packed_begin_section(dat, SECTION_OPTIONS, 0);
        uint8_t number[8] = {};

        int r = dat_put_options(dat->out, dat->trace, with_date);
        dat_put_number(dat->out, OPTION_CPUCOUNT, 2);
        dat_put_number(dat->out, 4, 4);
        dat_put_number(dat->out, dat->trace->decode->n_cpus, 4);
        for (DatSection i = DAT_HEADER_INFO; i < _DAT_SECTION_N; i++) {
                dat_put_number(dat->out, i, 2);
                dat_put_number(dat->out, 8, 4);
                dat_put_number(dat->out, dat->sections[i], 8);
        }
        dat_put_option(dat->out, OPTION_BUFFER, buffer, buffer_size);
        dat_put_option(dat->out, OPTION_DONE, number, sizeof(number));
        r = r ?: dat_packed_end_section(dat, place);
        return r ?: dat_packed_patch(dat, dat->head_place, place, 8);
}

static int dat_packed_put_file(PackedDat *dat, bool with_date) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        int r = dat_packed_put_head(dat);
        for (DatSection section = DAT_HEADER_INFO; r == 0 && section < _DAT_SECTION_N; section++)
                r = dat_packed_put_section(dat, section);
        if (r < 0)
                return r;
        FILE *option = open_memstream(&text, &size);
        if (!option)
                return -errno;
        r = dat_packed_put_data(dat, option);
        if (fclose(option) != 0)
                r = r ?: -ENOMEM;
        r = r ?: dat_packed_put_option_section(dat, text, size, with_date);
        return r ?: dat_put_result(dat->out);
}

int dat_write_packed(Trace *trace, FILE *out, bool with_date, DatCounts *ret) {
        PackedDat dat = { .out = out,
                .trace = trace,
                .context = ZSTD_createCCtx(),
                .block = { .trace = trace, .counts = ret } };

        int r = dat.context ? dat_packed_put_file(&dat, with_date) : -ENOMEM;
        ZSTD_freeCCtx(dat.context);
        dat_block_clear(&dat.block);
        free(dat.packed);
        return r;
}
