/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed.h"
#include "work/patience.h"

/* The definitions that the files of a feed (feed.c, feed-*.c) share. No other file includes
 * this header. */

struct Feed {
        Worker *worker;
        Trace *trace; /* NULL once detached */
        const FeedHandlers *handlers;
        void *userdata;
        Consumer *consumer; /* NULL: closed */
        sd_event_source *timer;
        Patience patience; /* the time limit that the timer checks */
        int client_fd;     /* open until ready */
        Plan rings;
        bool rings_in_flight;
        bool is_ready, is_released, is_closed, is_given_up;
        bool is_judged;                        /* the consumer removes records of non-members */
        bool is_attached, is_armed, has_rings; /* judged: rings need both */
        bool flush_wanted;
        bool is_snapshot;
        bool is_counting, has_reader;
        int kept_fd; /* snapshot: the window for the next */
        uint64_t n_interferences, interference_nsec;
        ControlMessage finish; /* type 0: not requested yet */
        int finish_names_fd;
        FeedCounters counters;
        SpoolEntry *entry; /* the recording on disk; else NULL */
        bool wants_file, is_full;
        int spool_error;
        char full_text[64];
        int error;
        char text[CONTROL_TEXT_MAX];
};
