/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the viewer of a shared instance that costs the others their records. mux.c counts each
 * batch here, and asks at each tick while a ring is nearly full or loses records.
 *
 * Events that only one viewer gets would not be recorded without it. If they bring a large part of
 * the bytes of about the last second, the viewer is named, and the daemon can move it to an
 * instance of its own. A viewer that shares its class cannot move, because the class has one pool.
 * The sizes are those of whole groups of records, so counting costs little for each record. */

#include "consumer/mux/crowd.h"

#include <errno.h>
#include <stdlib.h>

#define SECOND_NSEC UINT64_C(1000000000)
/* A ring with so much of its bytes is nearly full. */
#define FULL_PERCENT 75
/* A viewer with a smaller part of all bytes leaves the ring nearly as full as it is. */
#define LEAST_PERCENT 25

int crowd_init(Crowd *crowd) {
        *crowd = (Crowd){
                .bytes = calloc(EVENT_IDS, sizeof(*crowd->bytes)),
                .ids = calloc(EVENT_IDS, sizeof(*crowd->ids)),
        };
        return crowd->bytes && crowd->ids ? 0 : -ENOMEM;
}

void crowd_clear(Crowd *crowd) {
        free(crowd->bytes);
        free(crowd->ids);
        *crowd = (Crowd){};
}

void crowd_count(Crowd *crowd, const Batch *batch) {
        BatchPart all = batch_get_all(batch);
        const BatchRecord *next;

        for (const BatchRecord *first = all.begin; first < all.end; first = next) {
                uint64_t *bytes = &crowd->bytes[first->id];

                next = first + first->n_alike;
                if (*bytes == 0)
                        crowd->ids[crowd->n_ids++] = first->id;
                *bytes += (uint64_t)(batch_record_get_end(next - 1) - first->word);
        }
}

void crowd_note(Crowd *crowd, uint64_t bytes, uint64_t ring_bytes, bool has_lost) {
        if (has_lost || bytes >= ring_bytes * FULL_PERCENT / 100)
                crowd->is_crowded = true;
}

static void crowd_halve(Crowd *crowd) {
        size_t n_kept = 0;

        for (size_t i = 0; i < crowd->n_ids; i++)
                if ((crowd->bytes[crowd->ids[i]] /= 2) > 0)
                        crowd->ids[n_kept++] = crowd->ids[i];
        crowd->n_ids = n_kept;
}

void crowd_pass_time(Crowd *crowd, uint64_t nsec) {
        crowd->quiet_nsec -= MIN_OF(nsec, crowd->quiet_nsec);
        crowd->age_nsec += nsec;
        if (crowd->age_nsec < SECOND_NSEC)
                return;
        crowd->age_nsec = 0;
        crowd_halve(crowd);
}

void crowd_forget(Crowd *crowd) {
        for (size_t i = 0; i < crowd->n_ids; i++)
                crowd->bytes[crowd->ids[i]] = 0;
        crowd->n_ids = 0;
        crowd->age_nsec = 0;
        crowd->is_crowded = false;
}

static bool crowd_is_wanted(const MuxViewer *viewer, uint16_t id) {
        return mux_viewer_is_joined(viewer) && event_bits_has(&viewer->class->choice.keep, id) &&
               !(viewer->off && event_bits_has(&viewer->off->bits, id));
}

/* Returns the only viewer that gets the event, or SHARE_VIEWERS_MAX. */
static uint32_t crowd_find_only_viewer(MuxViewer *const *viewers, uint16_t id) {
        uint32_t only = SHARE_VIEWERS_MAX;

        for (uint32_t i = 0; i < SHARE_VIEWERS_MAX; i++) {
                if (!crowd_is_wanted(viewers[i], id))
                        continue;
                if (only < SHARE_VIEWERS_MAX)
                        return SHARE_VIEWERS_MAX;
                only = i;
        }
        return only;
}

/* Returns the viewer that is alone in its class and whose own events have the most bytes, if they
 * are enough. */
static uint32_t crowd_find_noisy(const Crowd *crowd, MuxViewer *const *viewers) {
        uint64_t own[SHARE_VIEWERS_MAX + 1] = {}, all = 0;
        uint32_t noisy = SHARE_VIEWERS_MAX;

        for (size_t i = 0; i < crowd->n_ids; i++) {
                uint16_t id = crowd->ids[i];

                all += crowd->bytes[id];
                own[crowd_find_only_viewer(viewers, id)] += crowd->bytes[id];
        }
        own[SHARE_VIEWERS_MAX] = 0; /* bytes of events that several viewers get, or none */
        for (uint32_t i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (own[i] > own[noisy] && viewers[i]->class->n_viewers == 1)
                        noisy = i;
        return own[noisy] >= all * LEAST_PERCENT / 100 ? noisy : SHARE_VIEWERS_MAX;
}

/* A viewer that has the instance for itself disturbs no other. */
static bool crowd_is_shared(MuxViewer *const *viewers) {
        unsigned n_joined = 0;

        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                n_joined += mux_viewer_is_joined(viewers[i]);
        return n_joined > 1;
}

uint32_t crowd_choose(Crowd *crowd, MuxViewer *const *viewers) {
        bool is_due = crowd->is_crowded && crowd->quiet_nsec == 0 && crowd_is_shared(viewers);
        uint32_t noisy = is_due ? crowd_find_noisy(crowd, viewers) : SHARE_VIEWERS_MAX;

        crowd->is_crowded = false;
        if (noisy < SHARE_VIEWERS_MAX)
                crowd->quiet_nsec = SECOND_NSEC;
        return noisy;
}
