/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decode.h"
#include "interfaces/cpu-list.h"
#include "interfaces/error.h"
#include "stream.h"
#include "subbuf.h"

/* Whole sub-buffers of one CPU that lie behind each other in the file; the last may be cut. */
typedef struct TraceChunk {
        uint64_t offset;
        uint64_t size;   /* as sub-buffers */
        uint64_t lost;   /* events lost before it; 0: see the sub-buffers' own flags */
        uint32_t packed; /* bytes of a zstd frame, 0: plain */
} TraceChunk;

/* One CPU of one buffer: its chunks, and where the reader stands in them. */
typedef struct TraceLane {
        unsigned cpu;
        size_t buffer; /* index into the trace's buffers */
        TraceChunk *chunks;
        size_t n_chunks, n_allocated;

        size_t chunk;         /* the next one to read from */
        uint64_t chunk_place; /* bytes of it that were read */
        uint8_t *block;
        size_t block_size, block_used, block_place;
        Subbuf walk;
        Record record; /* the next one */
        int64_t lost;  /* before it; -1: an unknown number */
        bool is_told;  /* the block's frame told the loss, so its sub-buffers' flags do not count */
        bool is_taken; /* the record was handed out */
        bool is_done;
} TraceLane;

/* The top buffer, or an instance of a trace.dat. */
typedef struct TraceBuffer {
        char *name; /* "": the top one */
        size_t subbuf_size;
} TraceBuffer;

/* A recorded trace in a file: a .kts stream, or a trace.dat. */
typedef struct Trace {
        int fd; /* can seek */
        bool owns_fd;
        uint64_t size;
        uint64_t whole_size; /* of a stream: up to its last whole frame */
        bool is_dat;
        Stream stream;  /* of a trace.dat only its decode is set */
        Decode *decode; /* the stream's */
        TraceBuffer *buffers;
        size_t n_buffers;
        TraceLane **lanes; /* by buffer, then CPU */
        size_t n_lanes;
        /* trace.dat: nanoseconds = (raw * mult >> shift) + offset; mult 0: raw */
        uint32_t ts_mult, ts_shift;
        int64_t ts_offset;
        void *unpack; /* ZSTD_DCtx */
        uint64_t blocks_size;
        char missing[256]; /* what a cut or damaged file lacks */

        TraceLane **heap; /* lanes by the time of their next record */
        size_t n_heap;
        uint64_t n_damaged; /* sub-buffers that could not be read to their end */
} Trace;

typedef enum TraceItemKind {
        TRACE_END,
        TRACE_RECORD,
        TRACE_LOSS,
} TraceItemKind;

typedef struct TraceItem {
        TraceItemKind kind;
        Record record; /* of a loss only its ts and cpu */
        int64_t lost;  /* -1: an unknown number */
        const TraceBuffer *buffer;
} TraceItem;

/* Told apart by content. A fd that cannot seek is copied to a temporary file first. Returns 0,
 * -errno, KT_E_FAILED with reason. */
int trace_open(int fd, bool with_plugins, Trace **ret, Reason *reason);
Trace *trace_close(Trace *trace);
DEFINE_CLEANUP(Trace, trace_close);

/* Before the first trace_next(): the others are as if nothing had been there. */
void trace_keep_cpus(Trace *trace, const CpuList *cpus);
/* The next record or loss in time order over all CPUs; 0 or -errno. */
int trace_next(Trace *trace, TraceItem *ret);

/* pread that takes no less: 1, 0 at the file's end, -errno. */
int trace_read(const Trace *trace, uint64_t offset, void *data, size_t size);
int trace_add_buffer(Trace *trace, const char *name, size_t subbuf_size);
/* Finds or makes the lane of the last buffer's CPU; -ENOMEM. */
int trace_add_chunk(Trace *trace, unsigned cpu, const TraceChunk *chunk);
/* Unpacks a chunk into data, which has room for chunk->size: 0, -errno, -EBADMSG. */
int trace_unpack(Trace *trace, const TraceChunk *chunk, uint8_t *data);
