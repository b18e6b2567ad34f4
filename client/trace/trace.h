/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/cpu-list.h"
#include "interfaces/error.h"
#include "trace/decode.h"
#include "trace/record-filter.h"
#include "trace/stream.h"
#include "trace/subbuf.h"

/* Complete sub-buffers of one CPU that are adjacent in the file. The last one may be cut. */
typedef struct TraceChunk {
        uint64_t offset;
        uint64_t size;      /* as sub-buffers, after unpacking */
        uint64_t lost;      /* events lost before it; 0: see the sub-buffers' own flags */
        uint32_t packed;    /* bytes of a zstd frame; 0: not packed */
        uint64_t n_records; /* in a packed chunk of a stream, as its writer says */
        uint64_t time;      /* of a packed chunk: of its first sub-buffer; 0: unknown */
} TraceChunk;

/* One CPU of one buffer: its chunks, and the reader's position in them. */
typedef struct TraceLane {
        unsigned cpu;
        size_t buffer; /* index into the trace's buffers */
        TraceChunk *chunks;
        size_t n_chunks, n_allocated;

        size_t chunk;         /* the next chunk to read from */
        uint64_t chunk_place; /* bytes of it that were already read */
        uint8_t *block;
        size_t block_size, block_used, block_place;
        Subbuf walk;
        Record record;         /* the next one */
        int64_t lost;          /* events before it; -1: an unknown number */
        bool is_loss_reported; /* the frame reported the loss: ignore the sub-buffers' flags */
        bool is_taken;         /* the record was handed out */
        bool is_accepted;      /* the filter accepted the last record that it judged */
        bool is_done;
} TraceLane;

/* The top buffer, or an instance of a trace.dat. */
typedef struct TraceBuffer {
        char *name; /* "": the top buffer */
        size_t subbuf_size;
} TraceBuffer;

/* Another time line for a trace: CLOCK_BOOTTIME of some machine. */
typedef struct TraceTimeline {
        /* Never decreases when ts grows. ts: nanoseconds of the trace's clock. */
        uint64_t (*convert)(const void *userdata, uint64_t ts);
        const void *userdata;
        /* Times of the trace's clock, in order. Between two of them both clocks run evenly. Before
         * the first and after the last one their difference stays the same. */
        const uint64_t *knots;
        size_t n_knots;
        int64_t wall_offset_ns; /* CLOCK_REALTIME minus it */
} TraceTimeline;

/* A recorded trace in a file: a .kts stream, or a trace.dat. */
typedef struct Trace {
        int fd; /* can seek */
        bool owns_fd;
        uint64_t size;
        uint64_t whole_size; /* of a stream: up to its last complete frame */
        bool is_dat;
        Stream stream;  /* for a trace.dat, only its decode and receipt are set */
        Decode *decode; /* owned by the stream */
        TraceBuffer *buffers;
        size_t n_buffers;
        TraceLane **lanes; /* by buffer, then CPU */
        size_t n_lanes;
        /* For trace.dat: nanoseconds = (raw * mult >> shift) + offset. With mult 0, raw is used. */
        uint32_t ts_mult, ts_shift;
        int64_t ts_offset;
        TraceTimeline timeline; /* without convert: that of the clock */
        void *unpack;           /* ZSTD_DCtx */
        uint64_t blocks_size;
        char missing[256]; /* what a cut or damaged file lacks */

        TraceLane **heap; /* lanes by the time of their next record */
        size_t n_heap;
        uint64_t n_damaged; /* sub-buffers with a damaged end */
        RecordFilter filter;
        bool is_filtered;
} Trace;

typedef enum TraceItemKind {
        TRACE_END,
        TRACE_RECORD,
        TRACE_LOSS,
} TraceItemKind;

typedef struct TraceItem {
        TraceItemKind kind;
        Record record; /* for a loss, only ts and cpu are set */
        int64_t lost;  /* -1: an unknown number */
        const TraceBuffer *buffer;
} TraceItem;

/* Called when a trace has opened all its files, and before it parses the first byte of them.
 * Returns 0, or KT_E_* with a reason. */
typedef int (*TraceSeal)(Reason *reason);

/* Opens a trace; its content selects the loader. A fd that cannot seek is first copied to a
 * temporary file. seal may be NULL. Returns 0, -errno, or KT_E_FAILED with reason. */
int trace_open(int fd, bool with_plugins, TraceSeal seal, Trace **ret, Reason *reason);
/* The two steps of it, for several traces with one seal between them: opens all files that the
 * trace needs, and parses it. */
int trace_prepare(int fd, bool with_plugins, Trace **ret, Reason *reason);
int trace_load(Trace *trace, Reason *reason);
Trace *trace_close(Trace *trace);
DEFINE_CLEANUP(Trace, trace_close);

/* All times are of this time line from now on. Called after the trace was loaded, and before it is
 * used. */
void trace_set_timeline(Trace *trace, const TraceTimeline *timeline);
/* Drops all other CPUs. Must be called before the first trace_next(). */
void trace_keep_cpus(Trace *trace, const CpuList *cpus);
/* Returns the highest CPU with data, plus 1. */
unsigned trace_count_cpus(const Trace *trace);
/* Returns only these records. Must be called before the first trace_next(). Consumes the filter. */
void trace_set_filter(Trace *trace, RecordFilter *filter);
/* Gets the next record or loss in time order over all CPUs. Returns 0 or -errno. */
int trace_next(Trace *trace, TraceItem *ret);

/* Returns to the first record. */
void trace_rewind(Trace *trace);

/* Says in `missing` that sub-buffers were damaged, after the last trace_next(). */
void trace_report_damage(Trace *trace);

/* Like pread, but reads all `size` bytes. Returns 1, 0 at the file's end, or -errno. */
int trace_read(const Trace *trace, uint64_t offset, void *data, size_t size);
/* Nanoseconds of a sub-buffer's time, on the time line. */
uint64_t trace_convert_ts(const Trace *trace, uint64_t ts);
/* Lets a lane begin at this chunk, and at a sub-buffer `offset` bytes in it. */
void trace_lane_rewind(TraceLane *lane, size_t chunk, uint64_t offset);
/* Reads the next record of a lane into lane->record. Returns 1, 0 at the lane's end, or -errno. */
int trace_lane_advance(Trace *trace, TraceLane *lane);
int trace_add_buffer(Trace *trace, const char *name, size_t subbuf_size);
/* Adds the chunk to the CPU's lane in the last buffer; makes the lane if needed. Returns 0 or
 * -ENOMEM. */
int trace_add_chunk(Trace *trace, unsigned cpu, const TraceChunk *chunk);
/* Unpacks a chunk into data, which has room for chunk->size bytes. Returns 0, -errno or
 * -EBADMSG. */
int trace_unpack(Trace *trace, const TraceChunk *chunk, uint8_t *data);
