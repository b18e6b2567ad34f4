/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Moves data from the rings to the queue: it reads the rings, has the records cleaned and judged,
 * and puts them into frames. The consumer's loop runs it when a ring or the timer wakes the loop.
 * It owns the objects that the daemon's set-up made, and the rings.
 *
 * Without a fence, a CPU's sub-buffers go through one batch at once. A judged stream is released
 * round by round (hold.c), and the guard is checked before each release. Data above the stream's
 * limit of bytes per second is dropped in whole sub-buffers, and counted as lost. Frames of a
 * compressed stream are packed (packer.c) as long as the reading keeps up. A snapshot reads
 * each ring once and keeps its data after the data that the last snapshot kept (window.c). When
 * that is complete, it puts all of this. One of one user puts only that user's records (past.c). */

#include "consumer/pump.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "consumer/records/mask-rules.h"

#define BATCH_SIZE ((size_t)64 * 1024)
/* Larger blocks compress faster and better. Files of a spool keep room for one frame, so theirs are
 * smaller. */
#define PACKED_BATCH_SIZE ((size_t)256 * 1024)
#define CPUS_MAX          8192
/* The limit of memory at the end of a session with a slow reader: half of the unit's limit. Data
 * that stays in the rings is reported as `entries`. */
#define KEPT_BYTES_MAX ((uint64_t)1024 * 1024 * 1024)

int pump_set_counts(Pump *pump, const char *plan) {
        pump->counts_plan = json_parse_own(plan);
        return json_object_is_type(pump->counts_plan, json_type_object) ? 0 : -EBADMSG;
}

/* events: the array of the metadata. The events that are recorded only for counting are added to
 * it. */
static int load_counts(Pump *pump, json_object *events, bool is_judged) {
        _cleanup_json_ json_object *plan = TAKE_PTR(pump->counts_plan);
        json_object *more = NULL;

        int r = counts_new(plan, events, is_judged, &pump->counts);
        (void)json_object_object_get_ex(plan, "events", &more);
        for (size_t i = 0; r == 0 && more && i < json_object_array_length(more); i++) {
                json_object *event = json_object_get(json_object_array_get_idx(more, i));

                if (json_object_array_add(events, event) < 0) {
                        json_object_put(event);
                        r = -ENOMEM;
                }
        }
        return r;
}

static int make_tally(Pump *pump) {
        /* Anonymous memory that is never written costs nothing. */
        pump->tally.pids = mmap(NULL,
                        PAGE_PIDS_MAX / 8,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS,
                        -1,
                        0);
        return pump->tally.pids == MAP_FAILED ? -ENOMEM : 0;
}

static int load_events(Pump *pump, const ControlMessage *setup, const char *metadata) {
        _cleanup_json_ json_object *object = NULL;
        bool is_judged = setup->setup.judged, has_masks = setup->setup.fenced || is_judged;
        json_object *events;

        if (!pump->counts_plan && !has_masks)
                return 0;
        object = json_tokener_parse(metadata);
        if (!object || !json_object_object_get_ex(object, "events", &events))
                return -EBADMSG;
        int r = pump->counts_plan ? load_counts(pump, events, is_judged) : 0;
        r = r ?: has_masks ? make_tally(pump) : 0;
        /* The reader of a shared instance has cleaned the records. */
        return r
                               ?: has_masks && !setup->setup.shared
                                  ? masks_new(events, is_judged, &pump->masks)
                                  : 0;
}

typedef struct Visit {
        Pump *pump;
        unsigned cpu;
} Visit;

static bool pump_count_record(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        const Visit *visit = userdata;
        bool is_visible = counts_take(
                        visit->pump->counts, &(CountRecord){ record, size, visit->cpu, nsec });

        return is_visible || visit->pump->is_muted;
}

/* Returns the number of records for the reader. Without a reader nothing is removed from the
 * sub-buffer, because the whole sub-buffer is dropped. */
static uint32_t count_page(unsigned cpu, uint8_t *page, size_t size, void *userdata) {
        Visit visit = { userdata, cpu };
        uint32_t n = page_visit(page, size, pump_count_record, &visit);

        return visit.pump->is_muted ? 0 : n;
}

static void count_members(Pump *pump) {
        pump->fence.hold.visit = count_page;
        pump->fence.hold.visit_userdata = pump;
        pump->fence.hold.judge.names = counts_get_names(pump->counts);
}

static size_t choose_batch_size(const ControlMessage *setup) {
        if (setup->setup.shared)
                return SHARE_ENTRY_MAX;
        bool is_large = setup->setup.compressed && setup->setup.sink != CONTROL_SINK_SPOOL;
        size_t size = is_large ? PACKED_BATCH_SIZE : BATCH_SIZE;

        return MAX_OF(size,
                        setup->setup.snapshot == CONTROL_SNAPSHOT_NONE
                                        ? (size_t)setup->setup.subbuf_size
                                        : 2 * (size_t)setup->setup.subbuf_size);
}

int pump_init(Pump *pump,
                const ControlMessage *setup,
                const char *metadata,
                Queue *queue,
                Watchdog *watchdog) {
        uint32_t subbuf_size = setup->setup.subbuf_size, n_cpus = setup->setup.n_cpus;

        if (pump->batch || n_cpus == 0 || n_cpus > CPUS_MAX || subbuf_size < 4096 ||
                        subbuf_size > 16 * BATCH_SIZE)
                return -EBADMSG;
        pump->queue = queue;
        pump->watchdog = watchdog;
        pump->subbuf_size = subbuf_size;
        pump->batch_size = choose_batch_size(setup);
        pump->frame_size = setup->setup.sink == CONTROL_SINK_SPOOL
                                           ? MAX_OF(BATCH_SIZE, (size_t)subbuf_size)
                                           : pump->batch_size;
        /* The kernel rounds up, and has sub-buffers besides those of the ring. */
        pump->ring_bytes = setup->setup.buffer_bytes + 4 * pump->subbuf_size;
        pump->window.buffer_bytes = setup->setup.buffer_bytes;
        pump->batch = malloc(pump->batch_size);
        if (!pump->batch)
                return -ENOMEM;
        bucket_init(&pump->bucket, setup->setup.bytes_per_sec, 2 * pump->subbuf_size, 0);
        int r = rings_init(&pump->rings, n_cpus, setup->setup.buffer_bytes / subbuf_size);
        if (r == 0 && setup->setup.compressed)
                r = packer_init(&pump->packer, pump->batch_size);
        if (r == 0 && setup->setup.has_lives)
                r = past_new(setup, metadata, pump->lives_fd, &pump->past);
        else
                r = r ?: load_events(pump, setup, metadata);
        if (r == 0 && setup->setup.judged)
                r = fence_init(&pump->fence, setup, pump->masks, &pump->tally, &pump->bucket);
        if (r == 0 && setup->setup.compressed)
                pump->fence.hold.batch_size = pump->batch_size;
        if (r == 0 && pump->counts && setup->setup.judged)
                count_members(pump);
        /* A snapshot is judged as a whole, so a lane must hold a whole ring. */
        if (r == 0 && setup->setup.judged && setup->setup.snapshot != CONTROL_SNAPSHOT_NONE)
                pump->fence.hold.n_pages_max = pump->ring_bytes / subbuf_size;
        return r;
}

/* Cleans the data of a batch and drops what exceeds the rate limit. Counts like the kernel, that is
 * before the data is cleaned. Returns the bytes to send, at most n. */
static size_t clean_batch(Pump *pump, Ring *ring, size_t n) {
        size_t kept = 0, last = 0;

        for (size_t at = 0; at < n; at += pump->subbuf_size) {
                size_t size = MIN_OF(pump->subbuf_size, n - at);

                if (pump->counts && count_page(ring->cpu, pump->batch + at, size, pump) == 0)
                        continue;
                if (pump->masks)
                        page_clean(pump->masks, pump->batch + at, size, &pump->tally);
                if (!bucket_take(&pump->bucket, size)) {
                        uint32_t n_records = page_count(pump->batch + at, size);

                        ring->n_cut += n_records;
                        pump->tally.n_limited += n_records;
                        continue;
                }
                if (kept != at)
                        memmove(pump->batch + kept, pump->batch + at, size);
                kept += pump->subbuf_size;
                last = size;
        }
        return kept == 0 ? 0 : kept - pump->subbuf_size + last;
}

static uint64_t pump_count_records(const Pump *pump, const uint8_t *data, size_t size) {
        uint64_t n = 0;

        for (size_t at = 0; at < size; at += pump->subbuf_size)
                n += page_count(data + at, MIN_OF(pump->subbuf_size, size - at));
        return n;
}

/* Fills the last sub-buffer up with zeros. Returns the size of the payload, or 0 if it would not be
 * smaller than the data. */
static size_t pump_pack(Pump *pump, const HoldData *data, const uint8_t **ret) {
        size_t whole = (data->size + pump->subbuf_size - 1) / pump->subbuf_size * pump->subbuf_size;

        memset(data->bytes + data->size, 0, whole - data->size);
        size_t n = packer_pack(&pump->packer, data->bytes, whole, data->n_records, ret);
        return n < data->size ? n : 0;
}

static bool pump_is_packing(const Pump *pump) {
        return pump->packer.context && !pump->is_behind;
}

static int pump_put_data(const HoldData *data, void *userdata) {
        FrameHeader header = {
                .type = FRAME_DATA, .cpu = data->cpu, .size = data->size, .lost = data->lost
        };
        Pump *pump = userdata;
        const uint8_t *payload = NULL;

        size_t packed = pump_is_packing(pump) ? pump_pack(pump, data, &payload) : 0;
        if (packed > 0) {
                header.type = FRAME_PACKED;
                header.size = packed;
        }
        int r = queue_put(pump->queue, &header, packed > 0 ? payload : data->bytes, header.size);
        if (r < 0)
                return r;
        return !queue_is_empty(pump->queue) && !pump->is_ending;
}

/* When a ring is more than half full, nothing is packed for the rest of this run: while one ring's
 * data is packed, the others fill. */
static void note_level(Pump *pump, const Ring *ring, PumpReach reach) {
        if (reach != PUMP_ALL && ring->last.bytes > pump->ring_bytes / 2)
                pump->is_behind = true;
}

/* Reads one ring. It stops at the number of records that the ring held at the beginning, unless
 * everything is wanted. So a writer that is faster than the consumer cannot keep the other rings or
 * the daemon waiting.
 *
 * A sub-buffer that is read while the kernel still writes to it costs as much as a full one, and
 * becomes a frame of its own. So PUMP_FULL leaves it to the next tick. Unless data is packed, it
 * also reads the counters, which the kernel formats as text, only once. */
static int run_ring(Pump *pump, Ring *ring, PumpReach reach) {
        uint64_t bytes = 0;

        int r = ring_read_statistics(ring);
        if (r < 0)
                return r;
        note_level(pump, ring, reach);
        uint64_t held = ring->last.read + ring->last.entries;
        size_t n_left = reach == PUMP_FULL ? ring_count_full(ring, pump->subbuf_size)
                                           : SIZE_MAX / pump->subbuf_size;
        do {
                ssize_t n = ring_read(ring,
                                pump->batch,
                                MIN_OF(pump->batch_size, n_left * pump->subbuf_size),
                                pump->subbuf_size);

                if (n <= 0)
                        return (int)n;
                pump->found_any = true;
                watchdog_beat(pump->watchdog, false);
                bytes += (uint64_t)n;
                n_left -= ((size_t)n + pump->subbuf_size - 1) / pump->subbuf_size;
                pump->found_bytes += (uint64_t)n;
                size_t size = clean_batch(pump, ring, (size_t)n);
                if (size == 0) {
                        /* Reading may itself be recorded. So only the counters show the end. */
                        r = reach == PUMP_HELD ? ring_read_statistics(ring) : 0;
                        if (r < 0)
                                return r;
                        continue;
                }
                HoldData data = { .cpu = ring->cpu, .bytes = pump->batch, .size = size };
                data.lost = reach == PUMP_FULL && !pump->packer.context ? ring_take_known_lost(ring)
                                                                        : ring_take_lost(ring);
                note_level(pump, ring, reach);
                if (pump_is_packing(pump))
                        data.n_records = pump_count_records(pump, pump->batch, size);
                r = pump_put_data(&data, pump);
                if (r != 0)
                        return MIN_OF(r, 0);
        } while (bytes < pump->ring_bytes && pump->queue->kept_bytes < KEPT_BYTES_MAX &&
                        n_left > 0 && (reach != PUMP_HELD || ring->last.read < held));
        return 0;
}

/* The guard has fired: data that is not sent yet is discarded. */
static int trip(Pump *pump) {
        pump->is_tripped = true;
        pump->queue->discarded_bytes += hold_discard(&pump->fence.hold);
        return -ECANCELED;
}

/* Runs until everything that was recorded before now is sent, or the sink is full. After a loss it
 * stops reading until the daemon has proven the members, because a proof covers only losses before
 * it. */
static int run_fence(Pump *pump) {
        uint64_t now = fence_get_now(&pump->fence), bytes = 0, before;
        Hold *hold = &pump->fence.hold;
        int r = 0;

        do {
                before = bytes;
                if (pump->is_ending || pump->fence.waits_since == 0)
                        r = fence_read(&pump->fence, &pump->rings, now, &bytes);
                if (r < 0)
                        return r;
                pump->found_bytes += bytes - before;
                pump->is_behind = !pump->is_ending && bytes - before > pump->ring_bytes / 2;
                watchdog_beat(pump->watchdog, false);
                pump->found_any = pump->found_any || bytes > before || !hold_is_empty(hold);
                if (guard_check(&pump->rings.guard, pump->trip_text, sizeof(pump->trip_text)) < 0)
                        return trip(pump);
                if (!pump->is_ending && fence_awaits_proof(&pump->fence)) {
                        pump->found_any = true;
                        return 0;
                }
                r = hold_release(hold, pump_put_data, pump);
        } while (r == 0 && !hold_is_read(hold, now) && bytes > before &&
                        (pump->is_ending || queue_is_empty(pump->queue)) &&
                        pump->queue->kept_bytes < KEPT_BYTES_MAX);
        return r;
}

/* Finds the data of an entry that the viewer's limit lets pass. The data of other viewers must not
 * be written to, so it is copied if there is a limit, or if it is packed. */
static void pump_take_entry(Pump *pump, const ShareEntry *entry, HoldData *data) {
        for (size_t at = 0; pump->tally.pids && at < data->size; at += pump->subbuf_size)
                page_tally(data->bytes + at,
                                MIN_OF(pump->subbuf_size, data->size - at),
                                &pump->tally);
        if (pump->bucket.rate == 0 && !pump_is_packing(pump))
                return;
        memcpy(pump->batch, data->bytes, data->size);
        data->bytes = pump->batch;
        if (pump->bucket.rate == 0)
                return;
        data->size = clean_batch(pump, &pump->rings.ring[entry->cpu], data->size);
        if (pump_is_packing(pump))
                data->n_records = pump_count_records(pump, data->bytes, data->size);
}

/* A file of a spool has no room for a frame as large as an entry. */
static int put_frames(Pump *pump, const HoldData *data) {
        int r = 0;

        if (data->size <= pump->frame_size)
                return MIN_OF(pump_put_data(data, pump), 0);
        for (size_t at = 0; r == 0 && at < data->size; at += pump->frame_size) {
                HoldData part = {
                        .cpu = data->cpu,
                        .bytes = data->bytes + at,
                        .size = MIN_OF(pump->frame_size, data->size - at),
                        .lost = at == 0 ? data->lost : 0,
                };

                if (pump_is_packing(pump))
                        part.n_records = pump_count_records(pump, part.bytes, part.size);
                r = MIN_OF(pump_put_data(&part, pump), 0);
        }
        return r;
}

static int put_entry(Pump *pump, const ShareEntry *entry) {
        const uint8_t *bytes = view_get(&pump->view, entry, pump->batch_size);

        if (!bytes)
                return -EBADMSG;
        HoldData data = {
                .cpu = entry->cpu,
                .bytes = (uint8_t *)bytes,
                .size = entry->size,
                .n_records = entry->n_records,
        };
        Ring *ring = &pump->rings.ring[entry->cpu];
        ring->last.dropped = MAX_OF(ring->last.dropped, entry->lost);
        pump_take_entry(pump, entry, &data);
        if (data.size == 0)
                return 0;
        data.lost = ring_take_known_lost(ring);
        pump->found_any = true;
        pump->found_bytes += data.size;
        return put_frames(pump, &data);
}

#define ENTRIES_MAX 4 /* at a time: their data may have to be kept in memory */

/* What the reader of the shared instance has cut. */
static void tally_view(Pump *pump) {
        pump->tally.n_unparsed = pump->tally.n_unknown = 0;
        for (unsigned i = 0; i < pump->rings.n_cpus; i++) {
                pump->tally.n_unparsed += pump->view.counters[i].unparsed;
                pump->tally.n_unknown += pump->view.counters[i].unknown;
        }
}

/* Passes on what the reader of the shared instance has sent until now. */
static int run_view(Pump *pump) {
        ShareEntry entries[ENTRIES_MAX];
        int n = 1, r = 0;

        pump->is_behind = false;
        while (r == 0 && n > 0 && (pump->is_ending || queue_is_empty(pump->queue)) &&
                        pump->queue->kept_bytes < KEPT_BYTES_MAX) {
                watchdog_beat(pump->watchdog, false);
                n = view_take(&pump->view, entries, ENTRIES_MAX);
                for (int i = 0; r == 0 && i < n; i++)
                        r = put_entry(pump, &entries[i]);
                if (n > 0)
                        view_finish(&pump->view);
        }
        tally_view(pump);
        return r ?: MIN_OF(n, 0);
}

int pump_open_view(Pump *pump, int *fds) {
        int r = view_open(&pump->view, pump->rings.n_cpus, fds);

        for (unsigned i = 0; r == 0 && i < pump->rings.n_cpus; i++)
                pump->rings.ring[i].counters = &pump->view.counters[i];
        pump->rings.n_given = r == 0 ? pump->rings.n_cpus : 0;
        return r;
}

static int run_rings(Pump *pump, PumpReach reach) {
        int r = 0;

        for (unsigned i = 0; r == 0 && i < pump->rings.n_given; i++) {
                if (!queue_is_empty(pump->queue) && !pump->is_ending)
                        break;
                r = run_ring(pump, &pump->rings.ring[i], reach);
        }
        return r;
}

int pump_run(Pump *pump, PumpReach reach) {
        struct timespec now;

        if (pump->is_tripped)
                return 0;
        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
        bucket_fill(&pump->bucket, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
        if (pump->view.is_open)
                return run_view(pump);
        if (pump->fence.is_on)
                return run_fence(pump);
        pump->is_behind = false;
        for (unsigned i = 0; pump->packer.context && i < pump->rings.n_given; i++)
                if (ring_read_statistics(&pump->rings.ring[i]) == 0)
                        note_level(pump, &pump->rings.ring[i], reach);
        int r = run_rings(pump, reach);
        /* Sub-buffers of very large records end early, and so seem not to be full. */
        if (r == 0 && reach == PUMP_FULL && !pump->found_any)
                r = run_rings(pump, PUMP_HELD);
        if (pump->counts && reach != PUMP_FULL && queue_is_empty(pump->queue))
                counts_end_round(pump->counts);
        return r;
}

/* A round judges the records that are older than the previous round. So two rounds are enough,
 * unless a lane is full. */
#define ROUNDS_MAX 64

int pump_catch_up(Pump *pump) {
        uint64_t asked = fence_get_now(&pump->fence);
        int r = 0;

        for (unsigned i = 0; r == 0 && i < ROUNDS_MAX && queue_is_empty(pump->queue); i++) {
                r = pump_run(pump, PUMP_HELD);
                if (pump->is_tripped || hold_is_past(&pump->fence.hold, asked))
                        break;
        }
        return r;
}

uint64_t pump_get_lost(Pump *pump) {
        uint64_t lost = pump->tally.n_doubtful;

        for (unsigned i = 0; i < pump->rings.n_given; i++) {
                Ring *ring = &pump->rings.ring[i];

                if (ring->stats_fd >= 0)
                        (void)ring_read_statistics(ring); /* on failure, the last counters remain */
                lost += ring_get_lost(ring);
        }
        return lost;
}

/* Reads the first batch of a snapshot. Overwritten records are not reported as lost: the window
 * begins after them, and data before them does not belong to it. That data is the rest of the
 * sub-buffer at which the last snapshot ended (the kernel keeps this sub-buffer apart from those
 * that it overwrites), and all data that the last snapshot kept. */
static ssize_t begin_snapshot(Pump *pump, Ring *ring, bool *ret_broken) {
        uint8_t *second = pump->batch + pump->subbuf_size;

        *ret_broken = false;
        ssize_t first = ring_read_one(ring, pump->batch, pump->subbuf_size);
        if (first <= 0)
                return first;
        ssize_t n = ring_read(
                        ring, second, pump->batch_size - pump->subbuf_size, pump->subbuf_size);
        if (n < 0)
                return n;
        *ret_broken = page_forget_missed(pump->batch, pump->subbuf_size);
        if (n == 0)
                return (ssize_t)page_get_used(pump->batch, pump->subbuf_size);
        if (!page_forget_missed(second, MIN_OF((size_t)n, pump->subbuf_size)))
                return first + n;
        *ret_broken = true;
        memmove(pump->batch, second, (size_t)n);
        return n;
}

/* Until the next snapshot, nothing but the window has the data that is read here. */
static int snapshot_ring(Pump *pump, Ring *ring) {
        bool has_begun = window_has_begun(&pump->window, ring->cpu), is_broken;
        uint64_t bytes = 0;

        int r = ring_read_statistics(ring);
        r = r ?: window_begin(&pump->window, ring->cpu);
        if (r < 0)
                return r;
        uint64_t held = ring->last.read + ring->last.entries, new_bytes = ring->last.bytes;
        ssize_t n = begin_snapshot(pump, ring, &is_broken);
        (void)ring_take_lost(ring);
        if (has_begun && n > 0)
                page_note_missed(pump->batch, MIN_OF(pump->subbuf_size, (size_t)n));
        r = window_carry(&pump->window, ring->cpu, is_broken ? UINT64_MAX : new_bytes);
        while (r == 0 && n > 0) {
                watchdog_beat(pump->watchdog, false);
                bytes += (uint64_t)n;
                r = window_keep(&pump->window,
                                ring->cpu,
                                pump->batch,
                                clean_batch(pump, ring, (size_t)n));
                if (bytes >= pump->ring_bytes ||
                                (!pump->window.is_frozen && ring->last.read >= held))
                        break;
                n = ring_read(ring, pump->batch, pump->batch_size, pump->subbuf_size);
                /* The kernel formats the statistics as text, which must be parsed. So they are not
                 * read before enough bytes may have been read. */
                if (bytes >= new_bytes)
                        r = r ?: ring_read_statistics(ring);
        }
        return r ?: (int)MIN_OF(n, (ssize_t)0);
}

static int keep_window(unsigned cpu, const uint8_t *data, size_t size, void *userdata) {
        return window_keep(&((Pump *)userdata)->window, cpu, data, size);
}

static int keep_judged(const HoldData *data, void *userdata) {
        return keep_window(data->cpu, data->bytes, data->size, userdata);
}

/* The data that the last snapshot kept was judged by that snapshot. */
static int take_judged_snapshot(Pump *pump) {
        Fence *fence = &pump->fence;
        int r = 0;

        if (guard_check(&pump->rings.guard, pump->trip_text, sizeof(pump->trip_text)) < 0)
                return trip(pump);
        fence_settle_window(fence, &pump->rings, pump->window.is_frozen);
        for (unsigned cpu = 0; r == 0 && cpu < pump->rings.n_given; cpu++)
                if (fence->since[cpu] == 0)
                        r = window_visit(&pump->window,
                                        cpu,
                                        hold_get_bytes(&fence->hold, cpu),
                                        keep_window,
                                        pump);
        r = r ?: hold_release(&fence->hold, keep_judged, pump);
        return r ?: window_close(&pump->window, &pump->tally);
}

int pump_read_window(Pump *pump) {
        if (!pump->fence.is_on || pump->fence.since || !rings_are_complete(&pump->rings))
                return -EBADMSG;
        watchdog_beat(pump->watchdog, false);
        return fence_read_window(&pump->fence, &pump->rings);
}

/* If not, the daemon has ended before it gave all that a snapshot needs. */
static bool pump_can_take_snapshot(const Pump *pump) {
        return pump->window.kept_fd >= 0 && (!pump->fence.is_on || pump->fence.since);
}

static int take_snapshot(Pump *pump) {
        int r = 0;

        if (!pump_can_take_snapshot(pump))
                return 0;
        if (pump->fence.is_on)
                return take_judged_snapshot(pump);

        for (unsigned i = 0; r == 0 && i < pump->rings.n_given; i++)
                r = snapshot_ring(pump, &pump->rings.ring[i]);
        return r ?: window_close(&pump->window, &pump->tally);
}

/* Records that were dropped after the last data of a CPU have no frame yet. */
static int put_last_losses(Pump *pump) {
        for (unsigned i = 0; i < pump->rings.n_given; i++) {
                FrameHeader header = { .type = FRAME_DATA, .cpu = i };

                header.lost = ring_take_lost(&pump->rings.ring[i]);
                if (pump->fence.is_on)
                        header.lost += hold_take_lost(&pump->fence.hold, i);
                int r = header.lost > 0 ? queue_put(pump->queue, &header, NULL, 0) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

int pump_leave(Pump *pump) {
        (void)pump_run(pump, PUMP_HELD); /* also on the guard's error: nothing more is sent */
        pump->queue->discarded_bytes += pump->fence.is_on ? hold_discard(&pump->fence.hold) : 0;
        return pump->is_tripped ? 0 : put_last_losses(pump);
}

int pump_discard(Pump *pump) {
        if (pump->window.is_on)
                return 0;
        if (pump->fence.is_on)
                pump->queue->discarded_bytes += hold_discard(&pump->fence.hold);
        return pump->is_tripped ? 0 : put_last_losses(pump);
}

int pump_open_window(Pump *pump, int earlier_fd, int kept_fd) {
        bool is_wanted = pump->window.is_on && pump->window.kept_fd < 0;

        pump->window.kept_fd = kept_fd;
        pump->window.n_cpus = pump->rings.n_cpus;
        pump->window.subbuf_size = pump->subbuf_size;
        return is_wanted ? window_open(&pump->window, earlier_fd, pump->masks, &pump->tally)
                         : -EBADMSG;
}

static int put_kept(unsigned cpu, const uint8_t *data, size_t size, void *userdata) {
        FrameHeader header = { .type = FRAME_DATA, .cpu = cpu, .size = size };
        Pump *pump = userdata;

        watchdog_beat(pump->watchdog, false);
        if (pump->queue->error != 0 || pump->queue->kept_bytes >= KEPT_BYTES_MAX) {
                pump->queue->discarded_bytes += size;
                return 0;
        }
        return pump->past ? past_put(pump->past, pump->queue, cpu, data, size)
                          : queue_put(pump->queue, &header, data, size);
}

int pump_put_window(Pump *pump) {
        if (pump->is_tripped)
                return 0;
        int r = window_read(&pump->window, put_kept, pump);
        window_clear(&pump->window);
        if (pump->past)
                return r ?: past_end(pump->past, pump->queue);
        if (!pump->fence.is_on)
                return r ?: put_last_losses(pump);
        hold_clear(&pump->fence.hold);
        return r;
}

int pump_end(Pump *pump) {
        pump->is_ending = true;
        if (pump->window.is_on) {
                int r = take_snapshot(pump);
                return pump->is_tripped ? 0 : r;
        }
        (void)pump_run(pump, PUMP_ALL); /* data that stays unread is reported as `entries` */
        if (pump->is_tripped)
                return 0;
        if (pump->fence.is_on)
                pump->queue->discarded_bytes += hold_discard(&pump->fence.hold);
        return put_last_losses(pump);
}
