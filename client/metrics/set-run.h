/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/ktrace.h"
#include "metrics/set.h"
#include "metrics/totals.h"

/* A metric of a set that is on, and what it has counted. */
typedef struct MetricRun {
        const SetMetric *metric;
        Totals *totals;          /* NULL: of the source status */
        uint64_t number;         /* of the source status */
        uint64_t number_before;  /* in the last answer */
        uint64_t dropped;        /* hits that the kernel's table had no room for */
        uint64_t dropped_before; /* in the last answer */
        bool is_read;            /* there was an answer */
        int64_t created_nsec;    /* since 1970: counting began */
} MetricRun;

/* A set that is on: its session at ktraced, and its numbers. It is used by the collector's thread
 * only. */
typedef struct SetRun {
        const Set *set; /* borrowed from the settings */
        MetricRun *metrics;
        bool *left_out;          /* for each metric: the session does not have it */
        ktrace_session *session; /* NULL: none now */
        char *id;                /* of the session that the counts are of; NULL: none yet */
        bool is_whole;           /* that session has counted all: source_name_histogram() */
        bool is_adopted;         /* a predecessor's, and not read yet */
        bool is_up;              /* the last reading succeeded */
        bool is_of_consumer;     /* the stream worker counts */
        char trouble[512];       /* why the last reading failed; "": it did not */
        unsigned n_failures;     /* since the last reading that succeeded */
        uint64_t due_usec;       /* the next reading is not earlier: CLOCK_MONOTONIC */
        uint64_t read_usec;      /* the last reading: CLOCK_MONOTONIC; 0: none */
        int64_t read_nsec;       /* the same, since 1970 */
        uint64_t reading_usec;   /* the time that all readings took */
        uint64_t n_lost;         /* records that the stream worker could not count */
        uint64_t lost_before;    /* in the last answer */
        uint64_t n_restarts;     /* counting began again, after a gap */
        uint64_t gap_usec;       /* all gaps together */
} SetRun;

/* set: borrowed; see set_run_move(). */
SetRun *set_run_new(const Set *set);
/* Forgets the session, and does not end it. */
SetRun *set_run_free(SetRun *run);
DEFINE_CLEANUP(SetRun, set_run_free);
/* The settings were read again, and the set is the same: set_is_same(). */
void set_run_move(SetRun *run, const Set *set);
/* Takes over the counts of metrics that go on in this set, which is another one. */
void set_run_inherit(SetRun *run, SetRun *from);
/* Finds or makes the session if necessary, and reads, unless the set is not due. The result is in
 * run. Returns false if ktraced may not be reached. */
bool set_run_read(SetRun *run, ktrace *connection, uint64_t interval_usec);
/* The next reading is made in any case, unless the last one failed. */
void set_run_hasten(SetRun *run);
/* Before the connection is closed, or when there is none. */
void set_run_detach(SetRun *run);
/* Ends the session. */
void set_run_end(SetRun *run, ktrace *connection);
