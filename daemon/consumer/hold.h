/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/bucket.h"
#include "consumer/page.h"
#include "consumer/ring.h"

/* One CPU's sub-buffers between reading and telling. */
typedef struct Lane {
        uint8_t *bytes; /* n_max sub-buffers */
        struct HeldPage *pages;
        size_t first, n, n_max;
        uint64_t horizon; /* all records before it were read */
        uint64_t lost;    /* not told yet */
} Lane;

/* A sub-buffer of which only records of members are left. Returns how many of them are to be told.
 */
typedef uint32_t (*HoldVisit)(unsigned cpu, uint8_t *page, size_t size, void *userdata);

/* What a fenced session's rings gave and is not judged yet. */
typedef struct Hold {
        Lane *lanes;
        unsigned n_lanes;
        size_t subbuf_size, batch_size;
        size_t n_pages_max; /* of a lane */
        PageJudge judge;
        PageTally *tally;
        Bucket *bucket;
        HoldVisit visit; /* NULL: none */
        void *visit_userdata;
} Hold;

/* A data frame; 1: no more for now. -errno. */
typedef int (*HoldPut)(unsigned cpu,
                const uint8_t *data,
                size_t size,
                uint64_t lost,
                void *userdata);

/* With subbuf_size, batch_size, judge, tally and bucket set. -ENOMEM. */
int hold_init(Hold *hold, unsigned n_cpus);
void hold_clear(Hold *hold);
/* Reads a ring until it gives nothing or what is younger than now, or the lane is full. *ret:
 * bytes. -errno. */
int hold_read(Hold *hold, Ring *ring, uint64_t now, uint64_t *ret);
/* Of a snapshot: the ring to its end, as far as n_pages_max reaches. What lies before a gap is not
 * of its window. *ret_since: from here on nothing is missing; 0: since the last snapshot. 1: there
 * is more; -errno. */
int hold_read_window(Hold *hold, Ring *ring, uint64_t *ret_since);
/* Was all before now read, of all rings? */
bool hold_is_read(const Hold *hold, uint64_t now);
/* Was all before that time read and judged, of all rings? */
bool hold_is_past(const Hold *hold, uint64_t nsec);
/* Judges and puts what is older than all that may still come. -errno. */
int hold_release(Hold *hold, HoldPut put, void *userdata);
/* What is to be released lies behind losses: nothing later than this was lost by them. 0: it does
 * not. */
uint64_t hold_find_loss(const Hold *hold);
/* Of a CPU, not told yet. */
uint64_t hold_get_bytes(const Hold *hold, unsigned cpu);
bool hold_is_empty(const Hold *hold);
/* Gives up what is left; its records count as lost. Bytes. */
uint64_t hold_discard(Hold *hold);
uint64_t hold_take_lost(Hold *hold, unsigned cpu);
