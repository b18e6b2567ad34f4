/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer/command-names.h"
#include "consumer/lives.h"
#include "consumer/mask.h"
#include "interfaces/control.h"

#define PAGE_HEADER_SIZE 16
#define PAGE_PIDS_MAX    4194304
#define PAGE_SIGHTS_MAX  16

typedef struct PageTally {
        uint8_t *pids; /* bit set of PAGE_PIDS_MAX: whose records were seen; NULL: not wanted */
        uint64_t n_unknown;  /* records of events that the masks do not know, made into padding */
        uint64_t n_unparsed; /* sub-buffers whose rest could not be walked, cut there */
        uint64_t n_foreign;  /* records of others and of interrupts, made into padding */
        uint64_t n_doubtful; /* records of whom nobody knows, made into padding */
        uint64_t n_limited;  /* records of sub-buffers that the limit of bytes a second cut */
} PageTally;

#define PAGE_MARKERS_MAX 4 /* daemons, one after the other, whose marks may be in the rings */

/* By what the records of a fenced session are judged. */
typedef struct PageJudge {
        const Masks *masks;
        Lives *lives;
        uint32_t fork_id, fork_child_offset, exit_id; /* told of or not, they are taken note of */
        uint32_t exec_id, exec_old_offset;            /* 0: not to be followed */
        ControlText fork_name, exit_name, exec_file;
        uint32_t marker_tids[PAGE_MARKERS_MAX]; /* the daemon's, and of those before it, */
        uint32_t marker_id;  /* whose records of this event are marks, whoever is a member */
        CommandNames *names; /* takes the names that records give; NULL: not wanted */
} PageJudge;

/* One task's records in a sub-buffer. */
typedef struct PageSight {
        uint32_t pid;
        uint64_t first_nsec, last_nsec;
} PageSight;

/* What has to be known of a sub-buffer to judge it without walking it again. */
typedef struct PageSummary {
        uint64_t first_nsec, last_nsec;
        uint32_t n_records;  /* that were told so far */
        bool has_others;     /* has records that speak of others too */
        bool has_interrupts; /* has records that are not the task's */
        bool has_pairs;      /* has records of two events */
        bool is_crowded;     /* has tasks that are not among the sights */
        unsigned n_sights;
        PageSight sights[PAGE_SIGHTS_MAX];
} PageSummary;

/* Bytes of a sub-buffer that carry anything: header, records, the stored count of missed events.
 * Never more than size. */
size_t page_get_used(const uint8_t *page, size_t size);
/* Cleans in place by the masks, and zeroes bodies of padding and discarded records and all beyond
 * commit but the count of missed events. */
void page_clean(const Masks *masks, uint8_t *page, size_t size, PageTally *tally);
/* Takes away that events are missing before it; whether it said so. */
bool page_forget_missed(uint8_t *page, size_t size);
/* How many records it tells. */
uint32_t page_count(const uint8_t *page, size_t size);

/* The same as page_clean(), but that whose pids were seen is told later; forks and exits are noted.
 * -ENOMEM. */
int page_scan(const PageJudge *judge,
                uint8_t *page,
                size_t size,
                PageTally *tally,
                PageSummary *ret);
/* After page_scan(), and when all is known up to its last record: cuts records of others in place.
 * summary->n_records is what stays. */
void page_judge(const PageJudge *judge,
                uint8_t *page,
                size_t size,
                PageTally *tally,
                PageSummary *summary);

/* false: the record is to be dropped. */
typedef bool (*PageVisit)(const uint8_t *record, size_t size, uint64_t nsec, void *userdata);
/* Shows each record; how many stay. */
uint32_t page_visit(uint8_t *page, size_t size, PageVisit visit, void *userdata);
