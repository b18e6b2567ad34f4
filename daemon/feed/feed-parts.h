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

/* To its consumer; a closed one is told by on_closed. */
void feed_send(Feed *feed, const ControlMessage *message, const int *fds, size_t n_fds);
/* After this call the feed may be freed. */
void feed_closed(Feed *feed);
/* Tells what nobody will tell any more. */
void feed_settle(Feed *feed);

/* A new one with the worker, trace, handlers, purpose and entry that the template has. */
int feed_begin(const ConsumerLauncher *launcher,
                const Feed *template,
                ControlSink kind,
                Feed **ret,
                Reason *reason);
/* feed-setup.c */
int feed_set_up(Feed *feed, ControlSink kind, Trace *trace);
/* Both ends of a way to a client. ret_sink: what the consumer gets; ret_client: what the client
 * gets. */
int feed_make_ends(ControlSink kind, int *ret_sink, int *ret_client);
void feed_set_timer(Feed *feed, uint64_t usec);
/* feed-counts.c */
void feed_on_rose(Feed *feed, const ControlMessage *message);
void feed_on_detached(Feed *feed, const ControlMessage *message);
/* feed-spool.c */
void feed_set_entry(Feed *feed, SpoolEntry *entry);
void feed_on_spooled(Feed *feed, const ControlMessage *message);
void feed_end_spool(Feed *feed);
/* The entry is the next daemon's. */
void feed_leave_spool(Feed *feed);

/* A snapshot has let the rings go; whole: all of it is in the window that it leaves. */
void feed_end_turn(Feed *feed, bool is_whole);
void feed_send_window(Feed *feed);
/* All of a judged snapshot is in the consumer's memory: whose it is is looked up now. Nothing of
 * other feeds. */
void feed_prove(Feed *feed);
