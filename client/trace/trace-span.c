/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds times in a trace without reading all of it: its first and last record, and the sub-buffer
 * in which a time lies. Called by selection.c. The kernel writes the sub-buffers of a CPU in the
 * order of time, and each begins with the time of its first record. So a binary search finds the
 * place; it reads only that time, which a packed frame has in its header. The search of a hostile
 * file may end at a wrong place, but never outside of the lane. */

#include "trace/trace-span.h"

#include <endian.h>
#include <string.h>

#include "interfaces/cleanup.h"

/* A place where reading can begin: a chunk, and a sub-buffer in it. */
typedef struct Place {
        size_t chunk;
        uint64_t offset;
} Place;

/* Gets the time at which a sub-buffer begins. Returns 1, 0 when it has none, or -errno. A
 * sub-buffer that the kernel found to be invalid is all zeros. */
static int trace_span_read_time(const Trace *trace,
                const TraceChunk *chunk,
                uint64_t offset,
                uint64_t *ret) {
        uint64_t time = chunk->time;
        int r;

        if (chunk->packed == 0) {
                if (chunk->size - offset < sizeof(time))
                        return 0;
                r = trace_read(trace, chunk->offset + offset, &time, sizeof(time));
                if (r <= 0)
                        return r;
                time = le64toh(time);
        }
        *ret = trace_convert_ts(trace, time);
        return time != 0;
}

/* The chunks of a lane, or the sub-buffers of one of them. */
typedef struct Parts {
        const Trace *trace;
        const TraceLane *lane;
        const TraceChunk *chunk; /* NULL: the parts are chunks */
        uint64_t n;
} Parts;

/* As trace_span_read_time(), of the first part from `at` on that has a time. Parts without a time
 * only report losses. Returns 0 if there is none before `end`. */
static int trace_span_find_time(const Parts *parts, uint64_t *at, uint64_t end, uint64_t *ret) {
        uint64_t size = parts->trace->buffers[parts->lane->buffer].subbuf_size;
        int r = 0;

        for (; r == 0 && *at < end; *at += r == 0)
                r = parts->chunk ? trace_span_read_time(parts->trace, parts->chunk, *at * size, ret)
                                 : trace_span_read_time(
                                                   parts->trace, &parts->lane->chunks[*at], 0, ret);
        return r;
}

/* Finds the last part that begins at or before ts; the first one if there is none. */
static int trace_span_search(const Parts *parts, uint64_t ts, uint64_t *ret) {
        uint64_t low = 0, high = parts->n;

        while (high > low + 1) {
                uint64_t middle = low + (high - low) / 2, at = middle, time = 0;
                int r = trace_span_find_time(parts, &at, high, &time);

                if (r < 0)
                        return r;
                if (r == 0 || time > ts)
                        high = middle;
                else
                        low = at;
        }
        *ret = low;
        return 0;
}

static int trace_span_seek_lane(const Trace *trace, TraceLane *lane, uint64_t ts) {
        uint64_t size = trace->buffers[lane->buffer].subbuf_size, chunk = 0, subbuf = 0;
        Parts parts = { .trace = trace, .lane = lane, .n = lane->n_chunks };
        int r = trace_span_search(&parts, ts, &chunk);

        if (r < 0)
                return r;
        parts.chunk = &lane->chunks[chunk];
        /* A packed chunk is read as a whole. */
        parts.n = parts.chunk->packed > 0 ? 0 : (parts.chunk->size + size - 1) / size;
        r = trace_span_search(&parts, ts, &subbuf);
        /* Losses reported just before belong to the first record. */
        while (subbuf == 0 && chunk > 0 && lane->chunks[chunk - 1].size == 0)
                chunk--;
        trace_lane_rewind(lane, (size_t)chunk, subbuf * size);
        return r;
}

int trace_span_seek(Trace *trace, uint64_t ts) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < trace->n_lanes; i++)
                if (trace->lanes[i]->n_chunks > 0)
                        r = trace_span_seek_lane(trace, trace->lanes[i], ts);
        return r;
}

/* Reads from the place to the lane's end. Returns 1, 0 when there is no record, or -errno. */
static int trace_span_read_rest(Trace *trace, TraceLane *lane, Place place, uint64_t *ret) {
        int r, n = 0;

        trace_lane_rewind(lane, place.chunk, place.offset);
        while ((r = trace_lane_advance(trace, lane)) > 0) {
                *ret = lane->record.ts;
                n = 1;
        }
        return r < 0 ? r : n;
}

/* Returns the place `n` sub-buffers before the lane's end, or the lane's start. */
static Place trace_span_go_back(const Trace *trace, const TraceLane *lane, uint64_t n) {
        uint64_t size = trace->buffers[lane->buffer].subbuf_size;

        for (size_t i = lane->n_chunks; i-- > 0;) {
                const TraceChunk *chunk = &lane->chunks[i];
                uint64_t n_here = (chunk->size + size - 1) / size;

                if (n <= n_here)
                        return (Place){ i, chunk->packed > 0 ? 0 : (n_here - n) * size };
                n -= n_here;
        }
        return (Place){};
}

/* Goes back from the end until there is a record. Each step is twice as long, because many
 * sub-buffers may have no record. */
static int trace_span_find_last(Trace *trace, TraceLane *lane, uint64_t *ret) {
        for (uint64_t n = 1;; n *= 2) {
                Place place = trace_span_go_back(trace, lane, n);
                int r = trace_span_read_rest(trace, lane, place, ret);

                if (r != 0 || (place.chunk == 0 && place.offset == 0))
                        return r;
        }
}

int trace_span_get(Trace *trace, uint64_t *ret_first, uint64_t *ret_last) {
        uint64_t first = UINT64_MAX, last = 0, n_damaged = trace->n_damaged;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < trace->n_lanes; i++) {
                TraceLane *lane = trace->lanes[i];
                uint64_t end;

                trace_lane_rewind(lane, 0, 0);
                r = trace_lane_advance(trace, lane);
                if (r > 0) {
                        first = MIN_OF(first, lane->record.ts);
                        r = trace_span_find_last(trace, lane, &end);
                        last = r > 0 ? MAX_OF(last, end) : last;
                }
                trace_lane_rewind(lane, 0, 0);
        }
        /* The sub-buffers are read again, and counted then. */
        trace->n_damaged = n_damaged;
        if (r < 0 || first == UINT64_MAX)
                return r < 0 ? r : 0;
        *ret_first = first;
        *ret_last = last;
        return 1;
}
