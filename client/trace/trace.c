/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a recorded trace as one sequence of records in time order over all CPUs. Called by the
 * exporters. Owns the file's index and one block of sub-buffers per CPU. The file is read in pieces
 * with pread. It is never mapped, because access to a file that shrinks would cause SIGBUS, and
 * never completely in memory. The two loaders, trace-stream.c and trace-dat.c, fill the index. With
 * equal times the lower CPU comes first, as in trace-cmd. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "interfaces/cleanup.h"
#include "interfaces/descriptor.h"
#include "trace/trace-dat.h"
#include "trace/trace-stream.h"
#include "trace/trace.h"

#define BLOCK_SIZE ((size_t)256 * 1024)
/* The blocks of all lanes together. Limits what a small file with many CPUs can allocate. */
#define BLOCKS_MAX ((uint64_t)1024 * 1024 * 1024)

int trace_read(const Trace *trace, uint64_t offset, void *data, size_t size) {
        size_t done = 0;

        if (offset > INT64_MAX - size)
                return 0;
        while (done < size) {
                ssize_t n = pread(trace->fd,
                                (uint8_t *)data + done,
                                size - done,
                                (off_t)(offset + done));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return 0;
                done += (size_t)n;
        }
        return 1;
}

int trace_add_buffer(Trace *trace, const char *name, size_t subbuf_size) {
        TraceBuffer *buffers = reallocarray(trace->buffers, trace->n_buffers + 1, sizeof(*buffers));
        char *copy = strdup(name);

        if (buffers)
                trace->buffers = buffers;
        if (!buffers || !copy) {
                free(copy);
                return -ENOMEM;
        }
        trace->buffers[trace->n_buffers++] =
                        (TraceBuffer){ .name = copy, .subbuf_size = subbuf_size };
        return 0;
}

static int add_lane(Trace *trace, size_t at, unsigned cpu) {
        TraceLane **lanes = reallocarray(trace->lanes, trace->n_lanes + 1, sizeof(TraceLane *));
        TraceLane *lane = calloc(1, sizeof(*lane));

        if (lanes)
                trace->lanes = lanes;
        if (!lanes || !lane) {
                free(lane);
                return -ENOMEM;
        }
        lane->cpu = cpu;
        lane->buffer = trace->n_buffers - 1;
        memmove(lanes + at + 1, lanes + at, (trace->n_lanes - at) * sizeof(TraceLane *));
        lanes[at] = lane;
        trace->n_lanes++;
        return 0;
}

int trace_add_chunk(Trace *trace, unsigned cpu, const TraceChunk *chunk) {
        size_t buffer = trace->n_buffers - 1, low = 0, high = trace->n_lanes;
        TraceLane *lane;
        int r;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                lane = trace->lanes[middle];
                if (lane->buffer < buffer || (lane->buffer == buffer && lane->cpu < cpu))
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == trace->n_lanes || trace->lanes[low]->buffer != buffer ||
                        trace->lanes[low]->cpu != cpu) {
                r = add_lane(trace, low, cpu);
                if (r < 0)
                        return r;
        }

        lane = trace->lanes[low];
        if (lane->n_chunks == lane->n_allocated) {
                size_t n = lane->n_allocated * 2 + 4;
                TraceChunk *chunks = reallocarray(lane->chunks, n, sizeof(*chunks));

                if (!chunks)
                        return -ENOMEM;
                lane->chunks = chunks;
                lane->n_allocated = n;
        }
        lane->chunks[lane->n_chunks++] = *chunk;
        return 0;
}

int trace_unpack(Trace *trace, const TraceChunk *chunk, uint8_t *data) {
        _cleanup_free_ uint8_t *packed = NULL;
        size_t n;
        int r;

        if (!trace->unpack)
                trace->unpack = ZSTD_createDCtx();
        packed = malloc(MAX_OF(chunk->packed, (uint32_t)1));
        if (!trace->unpack || !packed)
                return -ENOMEM;
        r = trace_read(trace, chunk->offset, packed, chunk->packed);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        n = ZSTD_decompressDCtx(trace->unpack, data, chunk->size, packed, chunk->packed);
        if (ZSTD_isError(n) || n != chunk->size)
                return -EBADMSG;
        return 0;
}

static int reserve_block(Trace *trace, TraceLane *lane, size_t size) {
        uint8_t *block;

        if (size <= lane->block_size)
                return 0;
        if (size - lane->block_size > BLOCKS_MAX - trace->blocks_size)
                return -EFBIG;
        block = realloc(lane->block, size);
        if (!block)
                return -ENOMEM;
        trace->blocks_size += size - lane->block_size;
        lane->block = block;
        lane->block_size = size;
        return 0;
}

static void trace_lane_lose(TraceLane *lane, int64_t lost) {
        if (lost < 0 || lane->lost < 0)
                lane->lost = -1;
        else
                lane->lost = MIN_OF(lane->lost, INT64_MAX / 2) + MIN_OF(lost, INT64_MAX / 2);
}

/* Reads the next block of sub-buffers. Returns 1, 0 when there is none, or -errno. */
static int lane_fill(Trace *trace, TraceLane *lane) {
        size_t subbuf_size = trace->buffers[lane->buffer].subbuf_size, size;
        const TraceChunk *chunk;
        int r;

        for (;;) {
                if (lane->chunk == lane->n_chunks)
                        return 0;
                chunk = &lane->chunks[lane->chunk];
                if (lane->chunk_place == 0 && chunk->lost > 0)
                        trace_lane_lose(lane,
                                        (int64_t)MIN_OF(chunk->lost, (uint64_t)INT64_MAX / 2));
                if (lane->chunk_place < chunk->size)
                        break;
                lane->chunk++;
                lane->chunk_place = 0;
        }

        size = MAX_OF(BLOCK_SIZE / subbuf_size, (size_t)1) * subbuf_size;
        if (chunk->packed > 0 || chunk->size - lane->chunk_place < size)
                size = (size_t)(chunk->size - lane->chunk_place);
        r = reserve_block(trace, lane, size);
        if (r < 0)
                return r;
        if (chunk->packed > 0)
                r = trace_unpack(trace, chunk, lane->block);
        else
                r = trace_read(trace, chunk->offset + lane->chunk_place, lane->block, size);
        if (r < 0)
                return r;
        if (chunk->packed == 0 && r == 0)
                return -EBADMSG; /* shorter than when it was opened */
        lane->is_loss_reported = chunk->lost > 0;
        lane->block_used = size;
        lane->block_place = 0;
        lane->chunk_place += size;
        if (lane->chunk_place == chunk->size) {
                lane->chunk++;
                lane->chunk_place = 0;
        }
        return 1;
}

uint64_t trace_convert_ts(const Trace *trace, uint64_t ts) {
        if (trace->ts_mult > 0)
                ts = (uint64_t)(((unsigned __int128)ts * trace->ts_mult) >> trace->ts_shift);
        ts += (uint64_t)trace->ts_offset;
        return trace->timeline.convert ? trace->timeline.convert(trace->timeline.userdata, ts) : ts;
}

void trace_set_timeline(Trace *trace, const TraceTimeline *timeline) {
        trace->timeline = *timeline;
        decode_set_clock(trace->decode, "boot");
        trace->decode->is_usec = true; /* whatever the clock was */
        trace->decode->has_wall = true;
        trace->decode->wall_offset_ns = timeline->wall_offset_ns;
}

void trace_lane_rewind(TraceLane *lane, size_t chunk, uint64_t offset) {
        lane->chunk = chunk;
        lane->chunk_place = offset;
        lane->block_used = lane->block_place = 0;
        lane->walk = (Subbuf){ 0 };
        lane->lost = 0;
}

int trace_lane_advance(Trace *trace, TraceLane *lane) {
        size_t subbuf_size = trace->buffers[lane->buffer].subbuf_size, size;
        int64_t missed;
        uint64_t ts;
        int r;

        for (;;) {
                if (subbuf_next(&lane->walk, &lane->record.data, &lane->record.size, &ts)) {
                        lane->record.ts = trace_convert_ts(trace, ts);
                        return 1;
                }
                if (lane->walk.is_damaged)
                        trace->n_damaged++;
                lane->walk = (Subbuf){ 0 };

                if (lane->block_place == lane->block_used) {
                        lane->block_place = lane->block_used = 0;
                        r = lane_fill(trace, lane);
                        if (r <= 0)
                                return r;
                }
                size = MIN_OF(subbuf_size, lane->block_used - lane->block_place);
                subbuf_open(&lane->walk,
                                lane->block + lane->block_place,
                                size,
                                trace->decode->long_size,
                                &missed);
                lane->block_place += size;
                if (missed != 0 && !lane->is_loss_reported)
                        trace_lane_lose(lane, missed);
        }
}

/* Reads the next record that passes the filter. Losses at other times are not the selection's. */
static int trace_lane_advance_filtered(Trace *trace, TraceLane *lane) {
        const RecordFilter *filter = &trace->filter;
        int r;

        while ((r = trace_lane_advance(trace, lane)) > 0 && trace->is_filtered) {
                if (lane->record.ts >= filter->until) {
                        lane->lost = 0;
                        return 0;
                }
                if (lane->record.ts < filter->from)
                        lane->lost = 0;
                else {
                        lane->is_accepted = record_filter_accepts(
                                        filter, trace->decode, &lane->record, lane->is_accepted);
                        if (lane->is_accepted)
                                break;
                }
        }
        return r;
}

static bool trace_is_before(const TraceLane *a, const TraceLane *b) {
        if (a->record.ts != b->record.ts)
                return a->record.ts < b->record.ts;
        return a->buffer != b->buffer ? a->buffer < b->buffer : a->cpu < b->cpu;
}

static void heap_sift_down(Trace *trace, size_t at) {
        TraceLane *lane = trace->heap[at];

        for (;;) {
                size_t child = at * 2 + 1;

                if (child >= trace->n_heap)
                        break;
                if (child + 1 < trace->n_heap &&
                                trace_is_before(trace->heap[child + 1], trace->heap[child]))
                        child++;
                if (!trace_is_before(trace->heap[child], lane))
                        break;
                trace->heap[at] = trace->heap[child];
                at = child;
        }
        trace->heap[at] = lane;
}

static int heap_init(Trace *trace) {
        trace->heap = calloc(trace->n_lanes + 1, sizeof(TraceLane *));
        if (!trace->heap)
                return -ENOMEM;
        for (size_t i = 0; i < trace->n_lanes; i++) {
                TraceLane *lane = trace->lanes[i];
                int r;

                lane->record.cpu = lane->cpu;
                r = trace_lane_advance_filtered(trace, lane);
                if (r < 0)
                        return r;
                lane->is_done = r == 0;
                if (r > 0 || lane->lost != 0)
                        trace->heap[trace->n_heap++] = lane;
        }
        for (size_t i = trace->n_heap / 2; i-- > 0;)
                heap_sift_down(trace, i);
        return 0;
}

static void heap_pop(Trace *trace) {
        trace->heap[0] = trace->heap[--trace->n_heap];
        if (trace->n_heap > 0)
                heap_sift_down(trace, 0);
}

int trace_next(Trace *trace, TraceItem *ret) {
        int r;

        if (!trace->heap) {
                r = heap_init(trace);
                if (r < 0)
                        return r;
        }
        while (trace->n_heap > 0) {
                TraceLane *lane = trace->heap[0];
                TraceItem item = { .kind = TRACE_LOSS,
                        .record = lane->record,
                        .lost = lane->lost,
                        .buffer = &trace->buffers[lane->buffer] };

                if (lane->is_taken) {
                        /* The caller may have used the last record until now, so the lane advances
                         * only here. */
                        r = trace_lane_advance_filtered(trace, lane);
                        if (r < 0)
                                return r;
                        lane->is_done = r == 0;
                        lane->is_taken = false;
                        heap_sift_down(trace, 0);
                        continue;
                }
                if (lane->lost == 0 && lane->is_done) {
                        heap_pop(trace);
                        continue;
                }
                if (lane->lost == 0) {
                        item.kind = TRACE_RECORD;
                        lane->is_taken = true;
                }
                lane->lost = 0;
                *ret = item;
                return 0;
        }
        *ret = (TraceItem){ .kind = TRACE_END };
        return 0;
}

void trace_rewind(Trace *trace) {
        for (size_t i = 0; i < trace->n_lanes; i++) {
                TraceLane *lane = trace->lanes[i];

                trace_lane_rewind(lane, 0, 0);
                lane->record = (Record){ .cpu = lane->cpu };
                lane->is_taken = lane->is_done = lane->is_loss_reported = false;
        }
        free(trace->heap);
        trace->heap = NULL;
        trace->n_heap = 0;
        trace->n_damaged = 0;
}

void trace_report_damage(Trace *trace) {
        if (trace->n_damaged > 0 && trace->missing[0] == '\0')
                snprintf(trace->missing,
                                sizeof(trace->missing),
                                "%" PRIu64
                                " damaged sub-buffers: records at their ends are missing",
                                trace->n_damaged);
}

static ssize_t trace_read_some(int fd, uint8_t *data, size_t size) {
        ssize_t n;

        do
                n = read(fd, data, size);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

/* Copies a file that cannot seek, head first. The copy is needed because command names and
 * statistics come last in a stream. */
static int spool(Trace *trace, const uint8_t *head, size_t n_head) {
        const char *directory = secure_getenv("TMPDIR");
        _cleanup_close_ int copy = -1;
        _cleanup_free_ uint8_t *buffer = malloc(BLOCK_SIZE);
        ssize_t n;
        int r;

        if (!buffer)
                return -ENOMEM;
        copy = open(directory ? directory : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (copy < 0)
                return -errno;
        r = descriptor_write_all(copy, head, n_head);
        if (r < 0)
                return r;
        while ((n = trace_read_some(trace->fd, buffer, BLOCK_SIZE)) > 0) {
                r = descriptor_write_all(copy, buffer, (size_t)n);
                if (r < 0)
                        return r;
        }
        if (n < 0)
                return (int)n;
        trace->fd = TAKE_FD(copy);
        trace->owns_fd = true;
        return 0;
}

typedef enum TraceType {
        TRACE_UNKNOWN,
        TRACE_STREAM,
        TRACE_DAT,
} TraceType;

static TraceType type_of(const uint8_t *head, size_t size) {
        static const uint8_t dat[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

        if (size >= sizeof(STREAM_MAGIC) - 1 &&
                        memcmp(head, STREAM_MAGIC, sizeof(STREAM_MAGIC) - 1) == 0)
                return TRACE_STREAM;
        if (size >= sizeof(dat) && memcmp(head, dat, sizeof(dat)) == 0)
                return TRACE_DAT;
        return TRACE_UNKNOWN;
}

/* Reads the first bytes. When the fd cannot seek, copies the file into a temporary file. */
static int open_head(Trace *trace, uint8_t head[static 16], size_t *ret_size) {
        struct stat st;
        size_t n = 0;

        if (fstat(trace->fd, &st) < 0)
                return -errno;
        if (S_ISREG(st.st_mode)) {
                ssize_t k = pread(trace->fd, head, 16, 0);

                if (k < 0)
                        return -errno;
                *ret_size = (size_t)k;
                return 0;
        }
        while (n < 16) {
                ssize_t k = trace_read_some(trace->fd, head + n, 16 - n);

                if (k < 0)
                        return (int)k;
                if (k == 0)
                        break;
                n += (size_t)k;
        }
        *ret_size = n;
        /* A file of another type is not copied: its data may never end. */
        return type_of(head, n) == TRACE_UNKNOWN ? 0 : spool(trace, head, n);
}

int trace_prepare(int fd, bool with_plugins, Trace **ret, Reason *reason) {
        _cleanup_(trace_close_cleanup) Trace *trace = calloc(1, sizeof(*trace));
        uint8_t head[16];
        struct stat st;
        size_t n = 0;
        int r;

        if (!trace)
                return -ENOMEM;
        trace->fd = fd;
        stream_init(&trace->stream, with_plugins);
        r = open_head(trace, head, &n);
        if (r < 0)
                return r;
        if (n == 0)
                return reason_set(reason, KT_E_FAILED, "the file is empty");
        if (type_of(head, n) == TRACE_UNKNOWN)
                return reason_set(reason,
                                KT_E_FAILED,
                                "not a ktrace stream and not a trace.dat of trace-cmd");
        if (fstat(trace->fd, &st) < 0)
                return -errno;
        trace->size = (uint64_t)st.st_size;
        trace->is_dat = type_of(head, n) == TRACE_DAT;
        r = stream_prepare(&trace->stream);
        if (r == 0)
                *ret = TAKE_PTR(trace);
        return r;
}

int trace_load(Trace *trace, Reason *reason) {
        int r = trace->is_dat ? trace_load_dat(trace, reason) : trace_load_stream(trace, reason);

        if (r == 0)
                trace->decode = trace->stream.decode;
        return r;
}

int trace_open(int fd, bool with_plugins, TraceSeal seal, Trace **ret, Reason *reason) {
        _cleanup_(trace_close_cleanup) Trace *trace = NULL;
        int r = trace_prepare(fd, with_plugins, &trace, reason);

        if (r == 0 && seal)
                r = seal(reason);
        r = r ?: trace_load(trace, reason);
        if (r == 0)
                *ret = TAKE_PTR(trace);
        return r;
}

static void lane_free(TraceLane *lane) {
        free(lane->chunks);
        free(lane->block);
        free(lane);
}

void trace_keep_cpus(Trace *trace, const CpuList *cpus) {
        size_t n = 0;

        for (size_t i = 0; i < trace->n_lanes; i++)
                if (cpu_list_has(cpus, trace->lanes[i]->cpu))
                        trace->lanes[n++] = trace->lanes[i];
                else
                        lane_free(trace->lanes[i]);
        trace->n_lanes = n;
}

unsigned trace_count_cpus(const Trace *trace) {
        unsigned n = 0;

        for (size_t i = 0; i < trace->n_lanes; i++)
                n = MAX_OF(n, trace->lanes[i]->cpu + 1);
        return n;
}

void trace_set_filter(Trace *trace, RecordFilter *filter) {
        trace->filter = *filter;
        trace->is_filtered = true;
        *filter = (RecordFilter){ 0 };
}

Trace *trace_close(Trace *trace) {
        if (!trace)
                return NULL;
        for (size_t i = 0; i < trace->n_lanes; i++)
                lane_free(trace->lanes[i]);
        for (size_t i = 0; i < trace->n_buffers; i++)
                free(trace->buffers[i].name);
        free(trace->lanes);
        free(trace->buffers);
        free(trace->heap);
        record_filter_clear(&trace->filter);
        ZSTD_freeDCtx(trace->unpack);
        stream_clear(&trace->stream);
        if (trace->owns_fd)
                close(trace->fd);
        free(trace);
        return NULL;
}
