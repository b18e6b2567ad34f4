/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer/records/command-names.h"
#include "consumer/records/lives.h"
#include "consumer/records/mask.h"
#include "interfaces/control.h"

#define PAGE_HEADER_SIZE 16
#define COMMON_SIZE      8 /* of a record: type, flags, preempt count, pid */
#define PAGE_PIDS_MAX    4194304
#define PAGE_SIGHTS_MAX  16

typedef struct PageTally {
        uint8_t *pids;       /* bit set of PAGE_PIDS_MAX: pids with records; NULL: not needed */
        uint64_t n_unknown;  /* records of events without a mask, made into padding */
        uint64_t n_unparsed; /* sub-buffers that were cut where they could not be parsed */
        uint64_t n_foreign;  /* records of others and of interrupts, made into padding */
        uint64_t n_doubtful; /* records of tasks whose membership is unknown, made into padding */
        uint64_t n_limited; /* records of sub-buffers that exceeded the limit of bytes per second */
} PageTally;

#define PAGE_MARKERS_MAX 4 /* successive daemons whose marks may be in the rings */

/* The data by which the records of a fenced session are judged. */
typedef struct PageJudge {
        const Masks *masks;
        Lives *lives;
        uint32_t fork_id, fork_child_offset, exit_id; /* noted even if not shown */
        uint32_t exec_id, exec_old_offset;            /* 0: execs are not followed */
        ControlText fork_name, exit_name, exec_file;
        uint32_t marker_tids[PAGE_MARKERS_MAX]; /* tids of this daemon and of those before it */
        uint32_t marker_id;  /* their records of this event are marks and always pass */
        CommandNames *names; /* receives the names that records contain; NULL: not needed */
} PageJudge;

/* The records of one task in a sub-buffer. */
typedef struct PageSight {
        uint32_t pid;
        uint64_t first_nsec, last_nsec;
} PageSight;

/* The facts about a sub-buffer by which it is judged without another walk. */
typedef struct PageSummary {
        uint64_t first_nsec, last_nsec;
        uint32_t n_records;  /* records that passed so far */
        bool has_others;     /* has records that also describe other tasks */
        bool has_shared;     /* has records that may also be of a task that they describe */
        bool has_interrupts; /* has records from interrupt context, which are not the task's own */
        bool has_pairs;      /* has records of pairs of events */
        bool is_crowded;     /* has tasks that are not in sights */
        unsigned n_sights;
        PageSight sights[PAGE_SIGHTS_MAX];
} PageSummary;

/* Returns the number of used bytes in a sub-buffer: header, records, and the stored count of missed
 * events. Never more than size. */
size_t page_get_used(const uint8_t *page, size_t size);
/* Cleans the records in place by the masks. It also zeroes the bodies of padding and of discarded
 * records, and everything after commit, except the count of missed events. */
void page_clean(const Masks *masks, uint8_t *page, size_t size, PageTally *tally);
/* Removes the note that events are missing before this sub-buffer. Returns whether it had that
 * note. */
bool page_forget_missed(uint8_t *page, size_t size);
/* Notes that an unknown number of events may be missing before this sub-buffer. */
void page_note_missed(uint8_t *page, size_t size);
/* Notes the pids of its records. */
void page_tally(const uint8_t *page, size_t size, PageTally *tally);
/* Returns the number of its records. */
uint32_t page_count(const uint8_t *page, size_t size);

/* Does the same as page_clean(), and notes forks and exits. The pids are not tallied here:
 * page_judge() does that. Fails with -ENOMEM. */
int page_scan(const PageJudge *judge,
                uint8_t *page,
                size_t size,
                PageTally *tally,
                PageSummary *ret);
/* Cuts the records of others in place. The caller must have called page_scan(), and everything up
 * to the last record must be known. summary->n_records becomes the number of records that
 * remain. */
void page_judge(const PageJudge *judge,
                uint8_t *page,
                size_t size,
                PageTally *tally,
                PageSummary *summary);

/* Reads the text at a place of a record, or leaves ret unchanged. is_path: only the part after the
 * last slash, as the kernel names an executed task. */
void page_read_name(const uint8_t *record,
                size_t record_size,
                const ControlText *place,
                bool is_path,
                char ret[TASK_NAME_MAX]);

/* Returns false to drop the record. */
typedef bool (*PageVisit)(const uint8_t *record, size_t size, uint64_t nsec, void *userdata);
/* Calls visit for each record. Returns how many records remain. */
uint32_t page_visit(uint8_t *page, size_t size, PageVisit visit, void *userdata);
