/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints a stream while it arrives. Called by record and stream with the data of a pipe. top gives
 * it a reader, which gets the records instead. Owns the data frames that contain records not
 * printed yet.
 *
 * The records of each CPU arrive in order, but the CPUs arrive in batches: the consumer sends a
 * CPU's data at least every 100 ms. So a record is printed when one of these holds: every CPU
 * has sent a later record; the record is HOLD_NS older than the newest; no data has arrived for
 * a while (live_export_flush); too much data waits. A record that arrives later still is printed
 * with a note. */

#include "export/export-live.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zstd.h>

#include "export/comm.h"
#include "export/export.h"
#include "export/printer.h"
#include "export/wall-clock.h"
#include "interfaces/cleanup.h"
#include "trace/selection.h"
#include "trace/stream.h"
#include "trace/subbuf.h"

#define HOLD_NS     UINT64_C(150000000)
#define WAITING_MAX ((size_t)64 * 1024 * 1024)
#define CPUS_MAX    8192

/* One data frame, kept until its last record is printed. */
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

struct LiveExport {
        ExportFormat format;
        FILE *out;                /* NULL: for the reader */
        const LiveReader *reader; /* NULL: for the printer */
        void *userdata;
        const CpuList *cpus;         /* NULL: all */
        const CallStyle *call_style; /* NULL: the default */
        bool has_names;
        FILE *spool; /* EXPORT_DAT: holds the whole stream for the end */
        Stream stream;
        Printer printer;
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
        uint64_t newest, printed;
        uint64_t n_bytes, n_events, n_lost, n_damaged;
        char missing[256];
        bool is_damaged;
};

int live_export_new(ExportFormat format, FILE *out, LiveExport **ret) {
        _cleanup_(live_export_free_cleanup) LiveExport *live = calloc(1, sizeof(*live));

        if (!live)
                return -ENOMEM;
        live->format = format;
        live->out = out;
        stream_init(&live->stream, export_format_is_text(format));
        if (export_format_is_dat(format) && !(live->spool = tmpfile()))
                return -errno;
        *ret = TAKE_PTR(live);
        return 0;
}

int live_export_new_reader(const LiveReader *reader, void *userdata, LiveExport **ret) {
        LiveExport *live = calloc(1, sizeof(*live));

        if (!live)
                return -ENOMEM;
        live->reader = reader;
        live->userdata = userdata;
        stream_init(&live->stream, false);
        *ret = live;
        return 0;
}

static void lane_drop_head(LiveExport *live, LiveLane *lane) {
        Piece *piece = lane->head;

        lane->head = piece->next;
        if (!lane->head)
                lane->tail = NULL;
        lane->place = 0;
        lane->walk = (Subbuf){ 0 };
        live->waiting -= piece->size;
        free(piece);
}

LiveExport *live_export_free(LiveExport *live) {
        if (!live)
                return NULL;
        for (size_t i = 0; i < live->n_lanes; i++) {
                while (live->lanes[i] && live->lanes[i]->head)
                        lane_drop_head(live, live->lanes[i]);
                free(live->lanes[i]);
        }
        free(live->lanes);
        free(live->piece);
        printer_clear(&live->printer);
        stream_clear(&live->stream);
        if (live->spool)
                fclose(live->spool);
        free(live);
        return NULL;
}

static bool prints(const LiveExport *live) {
        return live->reader || export_format_is_text(live->format) || live->format == EXPORT_JSON ||
               live->format == EXPORT_CALLS;
}

static void export_live_lane_lose(LiveLane *lane, int64_t lost) {
        lane->lost = lost < 0 || lane->lost < 0 ? -1
                                                : MIN_OF(lane->lost, INT64_MAX / 2) +
                                                                  MIN_OF(lost, INT64_MAX / 2);
}

/* Sets lane->record to the next received record. False: there is none yet. */
static bool export_live_lane_advance(LiveExport *live, LiveLane *lane) {
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
                        export_live_lane_lose(lane,
                                        (int64_t)MIN_OF(piece->lost, (uint64_t)INT64_MAX / 2));
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
                        export_live_lane_lose(lane, missed);
        }
        return lane->has_record = false;
}

/* Returns the lane with the oldest record. *ret_next: the oldest time of all other lanes. */
static LiveLane *export_live_find_oldest(LiveExport *live, uint64_t *ret_next) {
        LiveLane *oldest = NULL;

        *ret_next = UINT64_MAX;
        for (size_t i = 0; i < live->n_lanes; i++) {
                LiveLane *lane = live->lanes[i];

                if (!lane || (!lane->has_record && !export_live_lane_advance(live, lane)))
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

static int report_loss(LiveExport *live, LiveLane *lane) {
        int64_t lost = lane->lost;

        lane->lost = 0;
        if (lost == 0)
                return 0;
        return live->reader ? live->reader->loss(lane->record.cpu, lost, live->userdata)
                            : printer_loss(&live->printer, &lane->record, lost, "");
}

static int report_late(LiveExport *live, uint32_t cpu) {
        return live->reader ? live->reader->loss(cpu, 0, live->userdata)
                            : printer_late(&live->printer, cpu);
}

static int print_record(LiveExport *live, const Record *record) {
        return live->reader ? live->reader->record(record, live->userdata)
                            : printer_record(&live->printer, record, "");
}

static int print_one(LiveExport *live, LiveLane *lane) {
        bool is_late = lane->record.ts < live->printed;
        int r = 0;

        if (is_late && !lane->is_late)
                r = report_late(live, lane->record.cpu);
        lane->is_late = is_late;
        if (!is_late)
                live->printed = lane->record.ts;
        if (r == 0)
                r = report_loss(live, lane);
        comm_look_up(live->stream.decode, decode_record_pid(&lane->record));
        if (r == 0)
                r = print_record(live, &lane->record);
        comm_learn(live->stream.decode, &lane->record);
        lane->has_record = false;
        return r;
}

/* Prints all records up to this time. */
static int export_live_drain(LiveExport *live, uint64_t limit) {
        for (;;) {
                uint64_t next;
                LiveLane *lane = export_live_find_oldest(live, &next);

                if (!lane || lane->record.ts > limit)
                        return live->reader ? 0 : printer_flush(&live->printer);
                do {
                        int r = print_one(live, lane);

                        if (r < 0)
                                return r;
                } while (export_live_lane_advance(live, lane) && lane->record.ts <= limit &&
                                lane->record.ts < next);
        }
}

/* Prints lost events that no record follows. */
static int drain_losses(LiveExport *live) {
        for (size_t i = 0; i < live->n_lanes; i++) {
                int r = live->lanes[i] ? report_loss(live, live->lanes[i]) : 0;

                if (r < 0)
                        return r;
        }
        return live->reader ? 0 : printer_flush(&live->printer);
}

static uint64_t printable_until(const LiveExport *live) {
        uint64_t limit = UINT64_MAX;

        if (live->waiting > WAITING_MAX)
                return UINT64_MAX;
        for (size_t cpu = 0; cpu < live->stream.decode->n_cpus && limit > 0; cpu++)
                limit = MIN_OF(limit,
                                cpu < live->n_lanes && live->lanes[cpu] ? live->lanes[cpu]->heard
                                                                        : 0);
        /* The unit of other clocks is unknown. live_export_flush() prints their records. */
        if (live->stream.decode->is_ns && live->newest > HOLD_NS)
                limit = MAX_OF(limit, live->newest - HOLD_NS);
        return limit;
}

static LiveLane *get_lane(LiveExport *live, unsigned cpu) {
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
static uint64_t count_records(LiveExport *live, const Piece *piece) {
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
static int take_data(LiveExport *live, Piece *piece) {
        bool is_wanted = !live->cpus || cpu_list_has(live->cpus, live->frame.cpu);
        uint64_t last = is_wanted ? count_records(live, piece) : 0;
        LiveLane *lane;

        if (!prints(live) || !is_wanted) {
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
        return export_live_drain(live, printable_until(live));
}

/* Replaces a packed frame's payload by its data. */
static int export_live_unpack(Piece **piece, Reason *reason) {
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

static int export_live_take_frame(LiveExport *live, Reason *reason) {
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
                        r = export_live_unpack(&piece, reason);
                if (r == 0)
                        return take_data(live, piece);
        } else
                r = stream_take(&live->stream, &live->frame, piece->data, reason);
        free(piece);
        if (r == 0 && live->frame.type == FRAME_METADATA && live->format == EXPORT_TEXT_WALL)
                r = wall_clock_check(live->stream.decode, reason);
        if (r == 0 && live->frame.type == FRAME_METADATA && live->cpus)
                r = decode_check_cpus(live->stream.decode, live->cpus, reason);
        if (r == 0 && live->frame.type == FRAME_METADATA && live->reader)
                return live->reader->begin(live->stream.decode, live->userdata);
        if (r == 0 && live->frame.type == FRAME_METADATA && prints(live)) {
                printer_init(&live->printer, live->format, live->out, live->stream.decode);
                live->printer.has_names = live->has_names;
                live->printer.call_style = live->call_style ?: &call_style_default;
                r = printer_begin(&live->printer);
        }
        return r;
}

/* The buffer grows with the received data: the size in a header is untrusted. */
static int reserve_piece(LiveExport *live) {
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
static int feed_step(LiveExport *live,
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
                return export_live_take_frame(live, reason);
        return r;
}

int live_export_feed(LiveExport *live, const uint8_t *data, size_t size, Reason *reason) {
        FILE *copy = live->spool ? live->spool : live->format == EXPORT_KTS ? live->out : NULL;
        Reason why = { 0 };

        if (live->is_damaged)
                return reason_set(reason, KT_E_FAILED, "%s", live->missing);
        if (copy && fwrite(data, 1, size, copy) != size)
                return errno > 0 ? -errno : -EIO;
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

int live_export_flush(LiveExport *live) {
        int r;

        if (prints(live) && live->stream.decode) {
                r = export_live_drain(live, UINT64_MAX);
                if (r == 0)
                        r = drain_losses(live);
                if (r < 0)
                        return r;
        }
        return live->out && fflush(live->out) != 0 ? -errno : 0;
}

static void export_live_report_missing(LiveExport *live) {
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

void live_export_set_cpus(LiveExport *live, const CpuList *cpus) {
        live->cpus = cpus;
}

void live_export_set_names(LiveExport *live, bool has_names) {
        live->has_names = has_names;
}

void live_export_set_calls(LiveExport *live, const CallStyle *style) {
        live->call_style = style;
}

static int finish_dat(LiveExport *live, ExportSummary *ret, Reason *reason) {
        if (fflush(live->spool) != 0)
                return -errno;
        return export_source(&(ExportSource){ .fd = fileno(live->spool),
                                             .name = "the stream",
                                             .selection = &(Selection){ .cpus = live->cpus } },
                        live->format,
                        live->out,
                        ret,
                        reason);
}

int live_export_finish(LiveExport *live, ExportSummary *ret, Reason *reason) {
        ExportSummary summary = { 0 };
        int r;

        if (live->spool)
                return finish_dat(live, ret, reason);
        r = live_export_flush(live);
        if (r < 0)
                return r;
        export_live_report_missing(live);
        if (prints(live) && !live->reader && live->stream.decode) {
                r = printer_end(&live->printer, &live->stream, live->missing);
                if (r < 0)
                        return r;
        }
        if (live->out && fflush(live->out) != 0)
                return -errno;

        summary.n_events = live->n_events;
        summary.n_lost = MAX_OF(live->n_lost, stream_count_lost(&live->stream));
        summary.complete = live->stream.is_ended;
        memcpy(summary.missing, live->missing, sizeof(summary.missing));
        memcpy(summary.end_code, live->stream.end_code, sizeof(summary.end_code));
        memcpy(summary.end_reason, live->stream.end_reason, sizeof(summary.end_reason));
        *ret = summary;
        return 0;
}

void live_export_count(const LiveExport *live, uint64_t *ret_events, uint64_t *ret_lost) {
        *ret_events = live->n_events;
        *ret_lost = live->n_lost;
}
