/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/bucket.h"
#include "consumer/records/page.h"
#include "consumer/records/ring.h"

/* One CPU's sub-buffers that were read and are not released yet. */
typedef struct Lane {
        uint8_t *bytes; /* room for n_max sub-buffers */
        struct HeldPage *pages;
        size_t first, n, n_max;
        uint64_t horizon; /* all records before this time were read */
        uint64_t lost;    /* not reported yet */
} Lane;

/* Called for a sub-buffer that holds only records of members. Returns how many of its records may
 * pass. */
typedef uint32_t (*HoldVisit)(unsigned cpu, uint8_t *page, size_t size, void *userdata);

/* The data of a fenced session's rings that is not judged yet. */
typedef struct Hold {
        Lane *lanes;
        unsigned n_lanes;
        size_t subbuf_size, batch_size;
        size_t n_pages_max; /* per lane */
        PageJudge judge;
        PageTally *tally;
        Bucket *bucket;
        HoldVisit visit; /* NULL: no visit */
        void *visit_userdata;
} Hold;

/* Sub-buffers of one CPU for a data frame. */
typedef struct HoldData {
        unsigned cpu;
        uint8_t *bytes; /* the rest of the last sub-buffer may be overwritten */
        size_t size;
        uint64_t n_records;
        uint64_t lost; /* events lost before */
} HoldData;

/* Returns 1 when the sink takes no more for now, or -errno. */
typedef int (*HoldPut)(const HoldData *data, void *userdata);

/* The caller has set subbuf_size, batch_size, judge, tally and bucket. Fails with -ENOMEM. */
int hold_init(Hold *hold, unsigned n_cpus);
void hold_clear(Hold *hold);
/* Reads a ring until it is empty, its records are newer than `now`, or the lane is full. *ret:
 * bytes. Returns -errno on failure. */
int hold_read(Hold *hold, Ring *ring, uint64_t now, uint64_t *ret);
/* For a snapshot: reads the ring to its end, or up to n_pages_max. Data before a gap does not
 * belong to the snapshot's window and is dropped. *ret_since: nothing is missing after this time;
 * 0: nothing is missing since the last snapshot. Returns 1 when the ring has more data, or
 * -errno. */
int hold_read_window(Hold *hold, Ring *ring, uint64_t *ret_since);
/* Returns whether all data before `now` was read from all rings. */
bool hold_is_read(const Hold *hold, uint64_t now);
/* Returns whether all data before that time was read from all rings and judged. */
bool hold_is_past(const Hold *hold, uint64_t nsec);
/* Judges and puts the data that is older than any data that may still come. Returns -errno on
 * failure. */
int hold_release(Hold *hold, HoldPut put, void *userdata);
/* Returns the time after which the losses before the next data to release lost nothing. 0: no such
 * losses. */
uint64_t hold_find_loss(const Hold *hold);
/* Returns the bytes of a CPU that are not released yet. */
uint64_t hold_get_bytes(const Hold *hold, unsigned cpu);
bool hold_is_empty(const Hold *hold);
/* Drops the remaining data and counts its records as lost. Returns the bytes. */
uint64_t hold_discard(Hold *hold);
uint64_t hold_take_lost(Hold *hold, unsigned cpu);
