/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Holds the data of a fenced session's rings until it may be released. A task may become a member
 * through a fork that is in another CPU's ring than the task's first records. So nothing is judged
 * before all rings were read beyond its time. The consumer runs this in rounds: it takes the time
 * and reads each ring until the ring is empty or returns newer records. Then it judges and releases
 * everything older.
 *
 * This is exact: a child runs only after the record of the fork was committed. If that record was
 * not there when its ring was read, all records of the child are newer than this round. A lane that
 * is full before its ring reaches the round's time delays the other lanes until it was released.
 *
 * It relies on ring_read_one(), which returns one sub-buffer, or the written part of the writer's
 * current one. n_pages_max per CPU limits the memory. */

#include "consumer/hold.h"

#include <errno.h>
#include <string.h>

#define LANE_BYTES_MAX ((size_t)1024 * 1024)
#define ALL_BYTES_MAX  ((size_t)128 * 1024 * 1024)
#define LANE_PAGES_MIN 4

typedef struct HeldPage {
        PageSummary summary;
        size_t used;
} HeldPage;

int hold_init(Hold *hold, unsigned n_cpus) {
        size_t bytes = MIN_OF(LANE_BYTES_MAX, ALL_BYTES_MAX / n_cpus);

        hold->n_pages_max = MAX_OF(bytes / hold->subbuf_size, (size_t)LANE_PAGES_MIN);
        hold->n_lanes = n_cpus;
        hold->lanes = calloc(n_cpus, sizeof(*hold->lanes));
        return hold->lanes ? 0 : -ENOMEM;
}

void hold_clear(Hold *hold) {
        for (unsigned i = 0; i < hold->n_lanes; i++) {
                free(hold->lanes[i].bytes);
                free(hold->lanes[i].pages);
        }
        free(hold->lanes);
        hold->lanes = NULL;
        hold->n_lanes = 0;
}

/* Makes room for one more sub-buffer. */
static int lane_reserve(const Hold *hold, Lane *lane) {
        if (lane->n == 0)
                lane->first = 0;
        if (lane->first + lane->n < lane->n_max)
                return 0;
        if (lane->first > 0) {
                memmove(lane->pages, lane->pages + lane->first, lane->n * sizeof(*lane->pages));
                memmove(lane->bytes,
                                lane->bytes + lane->first * hold->subbuf_size,
                                lane->n * hold->subbuf_size);
                lane->first = 0;
                return 0;
        }
        size_t n_max = MIN_OF(lane->n_max * 2 + LANE_PAGES_MIN, hold->n_pages_max);
        HeldPage *pages = reallocarray(lane->pages, n_max, sizeof(*pages));
        if (!pages)
                return -ENOMEM;
        lane->pages = pages;
        uint8_t *bytes = reallocarray(lane->bytes, n_max, hold->subbuf_size);
        if (!bytes)
                return -ENOMEM;
        lane->bytes = bytes;
        lane->n_max = n_max;
        return 0;
}

/* Reads the next sub-buffer. Returns 0 when the ring is empty. */
static ssize_t lane_read(const Hold *hold, Lane *lane, Ring *ring) {
        int r = lane_reserve(hold, lane);

        if (r < 0)
                return r;
        size_t at = lane->first + lane->n;
        uint8_t *bytes = lane->bytes + at * hold->subbuf_size;
        ssize_t n = ring_read_one(ring, bytes, hold->subbuf_size);
        if (n <= 0)
                return n;
        HeldPage *page = &lane->pages[at];
        r = page_scan(&hold->judge, bytes, hold->subbuf_size, hold->tally, &page->summary);
        if (r < 0)
                return r;
        page->used = page_get_used(bytes, hold->subbuf_size);
        lane->n++;
        lane->horizon = MAX_OF(lane->horizon, page->summary.last_nsec);
        return n;
}

static int note_loss(const Hold *hold, uint64_t nsec) {
        return lives_note(hold->judge.lives, &(LifeEvent){ .nsec = nsec, .kind = LIFE_LOSS });
}

/* The kernel drops new records while the ring is full. So records that were in the ring before the
 * reading began are older than records that were dropped before it. */
typedef struct Gap {
        bool is_open;
        uint64_t n_older; /* records in the ring */
} Gap;

static int gap_close(Gap *gap, const Hold *hold, const Lane *lane) {
        const PageSummary *last =
                        lane->n > 0 ? &lane->pages[lane->first + lane->n - 1].summary : NULL;

        if (!gap->is_open)
                return 0;
        gap->is_open = false;
        return note_loss(hold, last ? last->first_nsec : lane->horizon);
}

static int gap_pass(Gap *gap, const Hold *hold, const Lane *lane) {
        uint64_t n = lane->pages[lane->first + lane->n - 1].summary.n_records;

        if (gap->is_open && gap->n_older <= n)
                return gap_close(gap, hold, lane);
        gap->n_older -= MIN_OF(n, gap->n_older);
        return 0;
}

int hold_read(Hold *hold, Ring *ring, uint64_t now, uint64_t *ret) {
        Lane *lane = &hold->lanes[ring->cpu];
        uint64_t lost = ring_take_lost(ring), bytes = 0;
        Gap gap = { lost > 0, ring->last.entries };
        int r = 0;

        lane->lost += lost;
        while (r == 0 && lane->horizon < now && lane->n < hold->n_pages_max) {
                ssize_t n = lane_read(hold, lane, ring);

                if (n < 0)
                        return (int)n;
                if (n == 0) {
                        lane->horizon = now;
                        break;
                }
                bytes += (uint64_t)n;
                r = gap_pass(&gap, hold, lane);
        }
        r = r ?: gap_close(&gap, hold, lane);
        if (bytes > 0) {
                lost = ring_take_lost(ring); /* during the reading */
                lane->lost += lost;
                r = r ?: lost > 0 ? note_loss(hold, now) : 0;
        }
        *ret = bytes;
        return r;
}

/* The kernel marks a sub-buffer when data before it was overwritten. */
static uint64_t lane_cut_gaps(const Hold *hold, Lane *lane) {
        uint64_t since = 0;

        for (size_t n_before = 0; n_before < lane->n;) {
                size_t at = lane->first + n_before;

                if (!page_forget_missed(lane->bytes + at * hold->subbuf_size, hold->subbuf_size)) {
                        n_before++;
                        continue;
                }
                since = MAX_OF(lane->pages[at].summary.first_nsec, (uint64_t)1);
                lane->pages[at].used = page_get_used(
                                lane->bytes + at * hold->subbuf_size, hold->subbuf_size);
                lane->first += n_before;
                lane->n -= n_before;
                n_before = 1;
        }
        return since;
}

int hold_read_window(Hold *hold, Ring *ring, uint64_t *ret_since) {
        Lane *lane = &hold->lanes[ring->cpu];
        ssize_t n = 1;

        while (n > 0 && lane->n < hold->n_pages_max)
                n = lane_read(hold, lane, ring);
        (void)ring_take_lost(ring); /* overwritten data is not lost */
        lane->horizon = UINT64_MAX;
        *ret_since = lane_cut_gaps(hold, lane);
        return n > 0 ? 1 : (int)n;
}

bool hold_is_read(const Hold *hold, uint64_t now) {
        for (unsigned i = 0; i < hold->n_lanes; i++)
                if (hold->lanes[i].horizon < now)
                        return false;
        return true;
}

bool hold_is_past(const Hold *hold, uint64_t nsec) {
        for (unsigned i = 0; i < hold->n_lanes; i++) {
                const Lane *lane = &hold->lanes[i];

                if (lane->n > 0 && lane->pages[lane->first].summary.first_nsec <= nsec)
                        return false;
        }
        return hold_is_read(hold, nsec);
}

static uint64_t find_horizon(const Hold *hold) {
        uint64_t horizon = UINT64_MAX;

        for (unsigned i = 0; i < hold->n_lanes; i++)
                horizon = MIN_OF(horizon, hold->lanes[i].horizon);
        return horizon;
}

static void judge_page(const Hold *hold, Lane *lane, size_t at) {
        HeldPage *page = &lane->pages[at];

        page_judge(&hold->judge,
                        lane->bytes + at * hold->subbuf_size,
                        hold->subbuf_size,
                        hold->tally,
                        &page->summary);
        if (hold->visit && page->summary.n_records > 0)
                page->summary.n_records = hold->visit((unsigned)(lane - hold->lanes),
                                lane->bytes + at * hold->subbuf_size,
                                hold->subbuf_size,
                                hold->visit_userdata);
}

/* Judges the sub-buffers of one frame, starting with the lane's first. The last of them may be cut
 * after its used bytes. Sets the size and the number of records of the frame; a size of 0 is no
 * frame. *ret_n: number of judged sub-buffers. The last one may not belong to the frame. Then it is
 * dropped, and *ret_cut is the number of its records that exceeded the rate limit. */
static void make_frame(Hold *hold,
                Lane *lane,
                uint64_t horizon,
                HoldData *data,
                size_t *ret_n,
                uint64_t *ret_cut) {
        size_t n = 0;

        *ret_cut = 0;
        while (n < lane->n && data->size + hold->subbuf_size <= hold->batch_size) {
                HeldPage *page = &lane->pages[lane->first + n];

                if (page->summary.last_nsec >= horizon)
                        break;
                judge_page(hold, lane, lane->first + n);
                n++;
                if (page->summary.n_records == 0)
                        break;
                if (!bucket_take(hold->bucket, page->used)) {
                        *ret_cut = page->summary.n_records;
                        break;
                }
                data->n_records += page->summary.n_records;
                data->size = (n - 1) * hold->subbuf_size + page->used;
                if (hold->subbuf_size - page->used > hold->subbuf_size / 4)
                        break;
                data->size = n * hold->subbuf_size;
        }
        *ret_n = n;
}

static int lane_release(Hold *hold, unsigned cpu, uint64_t horizon, HoldPut put, void *userdata) {
        Lane *lane = &hold->lanes[cpu];
        uint64_t n_cut;
        size_t n;
        int r = 0;

        while (r == 0 && lane->n > 0) {
                HoldData data = { .cpu = cpu,
                        .bytes = lane->bytes + lane->first * hold->subbuf_size };

                make_frame(hold, lane, horizon, &data, &n, &n_cut);
                if (n == 0)
                        break;
                if (data.size > 0) {
                        data.lost = hold_take_lost(hold, cpu);
                        r = put(&data, userdata);
                }
                lane->lost += n_cut;
                hold->tally->n_limited += n_cut;
                lane->first += n;
                lane->n -= n;
        }
        return r;
}

int hold_release(Hold *hold, HoldPut put, void *userdata) {
        uint64_t horizon = find_horizon(hold), oldest = horizon;
        int r = 0;

        if (horizon == 0)
                return 0;
        r = lives_advance(hold->judge.lives, horizon - 1);
        for (unsigned i = 0; r == 0 && i < hold->n_lanes; i++)
                r = lane_release(hold, i, horizon, put, userdata);
        for (unsigned i = 0; i < hold->n_lanes; i++)
                if (hold->lanes[i].n > 0)
                        oldest = MIN_OF(oldest,
                                        hold->lanes[i].pages[hold->lanes[i].first]
                                                        .summary.first_nsec);
        lives_forget(hold->judge.lives, oldest);
        if (hold->judge.names)
                command_names_forget(hold->judge.names, oldest);
        return MIN_OF(r, 0);
}

uint64_t hold_find_loss(const Hold *hold) {
        uint64_t horizon = find_horizon(hold);

        return horizon > 0 ? lives_find_loss(hold->judge.lives, horizon - 1) : 0;
}

uint64_t hold_get_bytes(const Hold *hold, unsigned cpu) {
        return hold->lanes[cpu].n * hold->subbuf_size;
}

bool hold_is_empty(const Hold *hold) {
        for (unsigned i = 0; i < hold->n_lanes; i++)
                if (hold->lanes[i].n > 0)
                        return false;
        return true;
}

uint64_t hold_discard(Hold *hold) {
        uint64_t bytes = 0;

        for (unsigned i = 0; i < hold->n_lanes; i++) {
                Lane *lane = &hold->lanes[i];

                for (; lane->n > 0; lane->n--, lane->first++) {
                        bytes += lane->pages[lane->first].used;
                        lane->lost += lane->pages[lane->first].summary.n_records;
                }
        }
        return bytes;
}

uint64_t hold_take_lost(Hold *hold, unsigned cpu) {
        uint64_t lost = hold->lanes[cpu].lost;

        hold->lanes[cpu].lost = 0;
        return lost;
}
