/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed.h"
#include "work/patience.h"

/* What the files of a feed (feed.c, feed-window.c) have of each other; for nobody else. */

struct Feed {
        Worker *worker;
        Trace *trace; /* NULL once detached */
        const FeedHandlers *handlers;
        void *userdata;
        Consumer *consumer; /* NULL: closed */
        sd_event_source *timer;
        Patience patience; /* what the timer looks after */
        int client_fd;     /* until ready */
        Plan rings;
        bool rings_in_flight;
        bool is_ready, is_released, is_closed, is_given_up;
        bool is_judged; /* the consumer cuts records of those who are no members */
        bool is_attached, is_armed, has_rings; /* judged: the rings go when it is both */
        bool flush_wanted;
        bool is_snapshot;
        bool is_counting, has_reader;
        int kept_fd; /* of a snapshot: what it leaves to the next */
        uint64_t n_interferences, interference_nsec;
        ControlMessage finish; /* type 0: not wanted yet */
        int finish_names_fd;
        FeedCounters counters;
        SpoolEntry *entry; /* recorded onto the disk; else NULL */
        bool wants_file, is_full;
        int spool_error;
        char full_text[64];
        int error;
        char text[CONTROL_TEXT_MAX];
};
