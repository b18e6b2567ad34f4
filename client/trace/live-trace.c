/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a stream while it arrives and gives its records to a reader in time order over all CPUs.
 * Called by export-live.c, which prints them, and by top. Owns the data frames with
 * records that were not given yet.
 *
 * The records of each CPU arrive in order, but the CPUs arrive in batches: the consumer sends a
 * CPU's data at least every 100 ms. So a record is given when one of these holds: every CPU
 * has sent a later record; the record is HOLD_NS older than the newest; no data has arrived for
 * a while (live_trace_flush); too much data waits. A record that arrives later still is given
 * after a note. */

#include "trace/live-trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zstd.h>

#include "interfaces/cleanup.h"
#include "trace/comm.h"
#include "trace/subbuf.h"

#define HOLD_NS     UINT64_C(150000000)
#define WAITING_MAX ((size_t)64 * 1024 * 1024)
#define CPUS_MAX    8192

/* One data frame, kept until its last record is given. */
typedef struct Piece {
        struct Piece *next;
        size_t size;
        uint64_t lost;
        uint8_t data[];
} Piece;

typedef struct LiveLane {
        Piece *head, *tail;
        size_t place; /* offset of the next sub-buffer in head */
        Subbuf walk;
        Record record; /* the next record */
        bool has_record;
        bool is_late;
        int64_t lost;   /* lost before record; -1: an unknown number */
        uint64_t heard; /* time of the newest record received */
} LiveLane;

struct LiveTrace {
        const LiveReader *reader; /* NULL: records are counted only */
        void *userdata;
        const CpuList *cpus; /* NULL: all */
        Stream stream;
        LiveLane **lanes; /* by CPU */
        size_t n_lanes;

        uint8_t head[sizeof(FrameHeader)]; /* the stream's header is shorter */
        size_t head_used;
        bool has_stream_header;
        bool in_frame;
        FrameHeader frame;
        Piece *piece; /* the payload so far */
        size_t piece_used, piece_size;

        size_t waiting; /* bytes in all lanes */
        uint64_t newest, given;
        uint64_t n_bytes, n_events, n_lost, n_damaged;
        char missing[256];
        bool is_damaged;
};

int live_trace_new(const LiveReader *reader, void *userdata, bool with_plugins, LiveTrace **ret) {
        LiveTrace *live = calloc(1, sizeof(*live));

        if (!live)
                return -ENOMEM;
        live->reader = reader;
        live->userdata = userdata;
        stream_init(&live->stream, with_plugins);
        *ret = live;
        return 0;
}

static void lane_drop_head(LiveTrace *live, LiveLane *lane) {
        Piece *piece = lane->head;

        lane->head = piece->next;
        if (!lane->head)
                lane->tail = NULL;
        lane->place = 0;
        lane->walk = (Subbuf){ 0 };
        live->waiting -= piece->size;
        free(piece);
}

LiveTrace *live_trace_free(LiveTrace *live) {
        if (!live)
                return NULL;
        for (size_t i = 0; i < live->n_lanes; i++) {
                while (live->lanes[i] && live->lanes[i]->head)
                        lane_drop_head(live, live->lanes[i]);
                free(live->lanes[i]);
        }
        free(live->lanes);
        free(live->piece);
        stream_clear(&live->stream);
        free(live);
        return NULL;
}

static void live_lane_lose(LiveLane *lane, int64_t lost) {
        lane->lost = lost < 0 || lane->lost < 0 ? -1
                                                : MIN_OF(lane->lost, INT64_MAX / 2) +
                                                                  MIN_OF(lost, INT64_MAX / 2);
}

/* Sets lane->record to the next received record. False: there is none yet. */
static bool live_lane_advance(LiveTrace *live, LiveLane *lane) {
        while (lane->head) {
                Piece *piece = lane->head;
                size_t size = MIN_OF(live->stream.subbuf_size, piece->size - lane->place);
                int64_t missed;

                if (subbuf_next(&lane->walk,
                                    &lane->record.data,
                                    &lane->record.size,
                                    &lane->record.ts))
                        return lane->has_record = true;
                if (lane->walk.is_damaged)
                        live->n_damaged++;
                lane->walk = (Subbuf){ 0 };
                if (lane->place == 0 && piece->lost > 0)
                        live_lane_lose(lane, (int64_t)MIN_OF(piece->lost, (uint64_t)INT64_MAX / 2));
                if (size == 0) {
                        lane_drop_head(live, lane);
                        continue;
                }
                subbuf_open(&lane->walk,
                                piece->data + lane->place,
                                size,
                                live->stream.decode->long_size,
                                &missed);
                lane->place += size;
                if (missed != 0 && piece->lost == 0)
                        live_lane_lose(lane, missed);
        }
        return lane->has_record = false;
}

/* Returns the lane with the oldest record. *ret_next: the oldest time of all other lanes. */
static LiveLane *live_trace_find_oldest(LiveTrace *live, uint64_t *ret_next) {
        LiveLane *oldest = NULL;

        *ret_next = UINT64_MAX;
        for (size_t i = 0; i < live->n_lanes; i++) {
                LiveLane *lane = live->lanes[i];

                if (!lane || (!lane->has_record && !live_lane_advance(live, lane)))
                        continue;
                if (!oldest || lane->record.ts < oldest->record.ts) {
                        if (oldest)
                                *ret_next = oldest->record.ts;
                        oldest = lane;
                } else
                        *ret_next = MIN_OF(*ret_next, lane->record.ts);
        }
        return oldest;
}

static int give_loss(LiveTrace *live, LiveLane *lane) {
        int64_t lost = lane->lost;

        lane->lost = 0;
        return lost == 0 ? 0 : live->reader->loss(&lane->record, lost, live->userdata);
}

static int give_record(LiveTrace *live, LiveLane *lane) {
        bool is_late = lane->record.ts < live->given;
        int r = 0;

        if (is_late && !lane->is_late)
                r = live->reader->late(lane->record.cpu, live->userdata);
        lane->is_late = is_late;
        if (!is_late)
                live->given = lane->record.ts;
        r = r ?: give_loss(live, lane);
        comm_look_up(live->stream.decode, decode_record_pid(&lane->record));
        r = r ?: live->reader->record(&lane->record, live->userdata);
        comm_learn(live->stream.decode, &lane->record);
        lane->has_record = false;
        return r;
}

static int pause_reader(LiveTrace *live) {
        return live->reader->pause ? live->reader->pause(live->userdata) : 0;
}

/* Gives all records up to this time. */
static int live_trace_drain(LiveTrace *live, uint64_t limit) {
        for (;;) {
                uint64_t next;
                LiveLane *lane = live_trace_find_oldest(live, &next);

                if (!lane || lane->record.ts > limit)
                        return pause_reader(live);
                do {
                        int r = give_record(live, lane);

                        if (r < 0)
                                return r;
                } while (live_lane_advance(live, lane) && lane->record.ts <= limit &&
                                lane->record.ts < next);
        }
}

/* Gives lost events that no record follows. */
static int give_last_losses(LiveTrace *live) {
        for (size_t i = 0; i < live->n_lanes; i++) {
                int r = live->lanes[i] ? give_loss(live, live->lanes[i]) : 0;

                if (r < 0)
                        return r;
        }
        return pause_reader(live);
}

static uint64_t givable_until(const LiveTrace *live) {
        uint64_t limit = UINT64_MAX;

        if (live->waiting > WAITING_MAX)
                return UINT64_MAX;
        for (size_t cpu = 0; cpu < live->stream.decode->n_cpus && limit > 0; cpu++)
                limit = MIN_OF(limit,
                                cpu < live->n_lanes && live->lanes[cpu] ? live->lanes[cpu]->heard
                                                                        : 0);
        /* The unit of other clocks is unknown. live_trace_flush() gives their records. */
        if (live->stream.decode->is_ns && live->newest > HOLD_NS)
                limit = MAX_OF(limit, live->newest - HOLD_NS);
        return limit;
}

static LiveLane *get_lane(LiveTrace *live, unsigned cpu) {
        if (cpu >= live->n_lanes) {
                size_t n = MAX_OF((size_t)cpu + 1, (size_t)live->stream.decode->n_cpus);
                LiveLane **lanes =
                                n > CPUS_MAX ? NULL : reallocarray(live->lanes, n, sizeof(*lanes));

                if (!lanes)
                        return NULL;
                memset(lanes + live->n_lanes, 0, (n - live->n_lanes) * sizeof(*lanes));
                live->lanes = lanes;
                live->n_lanes = n;
        }
        if (!live->lanes[cpu]) {
                live->lanes[cpu] = calloc(1, sizeof(LiveLane));
                if (live->lanes[cpu])
                        live->lanes[cpu]->record.cpu = cpu;
        }
        return live->lanes[cpu];
}

/* Counts a frame's records; returns the time of the last one, 0 without any. */
static uint64_t count_records(LiveTrace *live, const Piece *piece) {
        uint64_t ts, last = 0, lost = piece->lost;

        for (size_t place = 0; place < piece->size; place += live->stream.subbuf_size) {
                const uint8_t *data;
                uint32_t size;
                int64_t missed;
                Subbuf walk;

                subbuf_open(&walk,
                                piece->data + place,
                                MIN_OF(live->stream.subbuf_size, piece->size - place),
                                live->stream.decode->long_size,
                                &missed);
                if (piece->lost == 0 && missed != 0)
                        lost += missed > 0 ? (uint64_t)missed : 1;
                while (subbuf_next(&walk, &data, &size, &ts)) {
                        live->n_events++;
                        last = ts;
                }
        }
        live->n_lost += lost;
        return last;
}

/* consumes piece */
static int take_data(LiveTrace *live, Piece *piece) {
        bool is_wanted = !live->cpus || cpu_list_has(live->cpus, live->frame.cpu);
        uint64_t last = is_wanted ? count_records(live, piece) : 0;
        LiveLane *lane;

        if (!live->reader || !is_wanted) {
                free(piece);
                return 0;
        }
        lane = get_lane(live, live->frame.cpu);
        if (!lane) {
                free(piece);
                return -ENOMEM;
        }
        if (lane->tail)
                lane->tail->next = piece;
        else
                lane->head = piece;
        lane->tail = piece;
        live->waiting += piece->size;
        lane->heard = MAX_OF(lane->heard, last);
        live->newest = MAX_OF(live->newest, last);
        return live_trace_drain(live, givable_until(live));
}

/* Replaces a packed frame's payload by its data. */
static int live_trace_unpack(Piece **piece, Reason *reason) {
        PackedHeader header = {};
        Piece *packed = *piece, *data;

        int r = packed_header_decode(packed->data, packed->size, &header, reason);
        if (r != 0)
                return r;
        data = malloc(sizeof(*data) + header.data_bytes);
        if (!data)
                return -ENOMEM;
        *data = (Piece){ .size = header.data_bytes, .lost = packed->lost };
        size_t n = ZSTD_decompress(data->data,
                        data->size,
                        packed->data + sizeof(PackedHeader),
                        header.packed_bytes);
        free(packed);
        *piece = data;
        if (n != data->size) /* also for an error */
                return reason_set(reason,
                                KT_E_FAILED,
                                "damaged stream: a packed frame that cannot be unpacked");
        return 0;
}

static int live_trace_take_frame(LiveTrace *live, Reason *reason) {
        Piece *piece = TAKE_PTR(live->piece);
        int r;

        live->in_frame = false;
        live->head_used = 0;
        piece->size = (size_t)live->frame.size;
        piece->lost = live->frame.lost;
        piece->next = NULL;
        if (frame_has_data(live->frame.type)) {
                r = stream_expect(&live->stream, &live->frame, reason);
                if (r == 0 && live->frame.type == FRAME_PACKED)
                        r = live_trace_unpack(&piece, reason);
                if (r == 0)
                        return take_data(live, piece);
        } else
                r = stream_take(&live->stream, &live->frame, piece->data, reason);
        free(piece);
        if (r != 0 || live->frame.type != FRAME_METADATA)
                return r;
        if (live->cpus)
                r = decode_check_cpus(live->stream.decode, live->cpus, reason);
        if (r == 0 && live->reader)
                r = live->reader->begin(live->stream.decode, live->userdata, reason);
        return r;
}

/* The buffer grows with the received data: the size in a header is untrusted. */
static int reserve_piece(LiveTrace *live) {
        size_t size = live->piece ? live->piece_size * 2 : (size_t)64 * 1024;
        Piece *piece;

        if (live->piece && live->piece_used < live->piece_size)
                return 0;
        size = MIN_OF(size, (size_t)live->frame.size);
        piece = realloc(live->piece, sizeof(*piece) + size);
        if (!piece)
                return -ENOMEM;
        live->piece = piece;
        live->piece_size = size;
        return 0;
}

/* Consumes as much of data as one step needs. *ret_taken: the bytes consumed. */
static int feed_step(LiveTrace *live,
                const uint8_t *data,
                size_t size,
                size_t *ret_taken,
                Reason *reason) {
        size_t wanted, n;
        int r = 0;

        if (!live->in_frame) {
                wanted = live->has_stream_header ? sizeof(FrameHeader) : sizeof(StreamHeader);
                n = MIN_OF(wanted - live->head_used, size);
                memcpy(live->head + live->head_used, data, n);
                live->head_used += n;
                *ret_taken = n;
                if (live->head_used < wanted)
                        return 0;
                if (!live->has_stream_header) {
                        live->has_stream_header = true;
                        live->head_used = 0;
                        return stream_header_decode(live->head, sizeof(StreamHeader), reason);
                }
                r = frame_header_decode(live->head, &live->frame, reason);
                if (r != 0)
                        return r;
                live->in_frame = true;
                live->piece_used = 0;
                r = reserve_piece(live);
        } else {
                r = reserve_piece(live);
                if (r < 0)
                        return r;
                n = MIN_OF(live->piece_size - live->piece_used, size);
                memcpy(live->piece->data + live->piece_used, data, n);
                live->piece_used += n;
                *ret_taken = n;
        }
        if (r == 0 && live->piece_used == live->frame.size)
                return live_trace_take_frame(live, reason);
        return r;
}

int live_trace_feed(LiveTrace *live, const uint8_t *data, size_t size, Reason *reason) {
        Reason why = { 0 };

        if (live->is_damaged)
                return reason_set(reason, KT_E_FAILED, "%s", live->missing);
        while (size > 0) {
                size_t taken = 0;
                int r = feed_step(live, data, size, &taken, &why);

                live->n_bytes += taken;
                if (r > 0) {
                        live->is_damaged = true;
                        snprintf(live->missing,
                                        sizeof(live->missing),
                                        "damaged after %" PRIu64 " bytes: %.180s",
                                        live->n_bytes,
                                        why.text);
                        return reason_set(reason, r, "%s", live->missing);
                }
                if (r < 0)
                        return r;
                data += taken;
                size -= taken;
        }
        return 0;
}

int live_trace_flush(LiveTrace *live) {
        if (!live->reader || !live->stream.decode)
                return 0;
        int r = live_trace_drain(live, UINT64_MAX);
        return r ?: give_last_losses(live);
}

static void live_trace_report_missing(LiveTrace *live) {
        if (live->missing[0] != '\0')
                return;
        if (!live->stream.is_ended)
                snprintf(live->missing,
                                sizeof(live->missing),
                                "cut after %" PRIu64 " bytes: %s%s%s, no end frame",
                                live->n_bytes,
                                live->in_frame ? "in a frame of type " : "after a whole frame",
                                live->in_frame ? stream_frame_name(live->frame.type) : "",
                                live->stream.statistics ? "" : ", no statistics");
        else if (live->n_damaged > 0)
                snprintf(live->missing,
                                sizeof(live->missing),
                                "%" PRIu64
                                " damaged sub-buffers: records at their ends are missing",
                                live->n_damaged);
}

int live_trace_finish(LiveTrace *live) {
        int r = live_trace_flush(live);

        if (r == 0)
                live_trace_report_missing(live);
        return r;
}

void live_trace_set_cpus(LiveTrace *live, const CpuList *cpus) {
        live->cpus = cpus;
}

const Stream *live_trace_get_stream(const LiveTrace *live) {
        return &live->stream;
}

const char *live_trace_get_missing(const LiveTrace *live) {
        return live->missing;
}

void live_trace_count(const LiveTrace *live, uint64_t *ret_events, uint64_t *ret_lost) {
        *ret_events = live->n_events;
        *ret_lost = live->n_lost;
}
