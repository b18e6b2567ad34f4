/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"
#include "work/patience.h"
#include "work/spawn.h"

/* Tasks whose records may pass. CONTROL_MEMBERS describes the times. */
typedef struct FeedMembers {
        const ControlMember *members;
        size_t n;
        uint64_t until_nsec, gap_nsec, read_until_nsec;
} FeedMembers;

/* A feed's connection to its consumer, and the time limit for the consumer's next answer. */
typedef struct FeedLink {
        Consumer *consumer; /* NULL: closed */
        sd_event_source *timer;
        Patience patience; /* the time limit that the timer checks */
        bool can_wait;     /* messages wait while the consumer does not read them */
        void (*on_late)(void *userdata);
        void *userdata;
} FeedLink;

/* on_late is called when the consumer has not answered in time. The link has no consumer yet; the
 * time in which it must become ready begins now. */
int feed_link_init(FeedLink *link,
                sd_event *event,
                void (*on_late)(void *userdata),
                void *userdata);
/* Frees the timer. The consumer is the caller's. */
void feed_link_clear(FeedLink *link);
/* usec 0 stops the timer. Time in which the consumer waits for a CPU does not count. */
void feed_link_set_timer(FeedLink *link, uint64_t usec);
/* The consumer answers when it has read all that the rings hold, which may take long. It is late
 * when it has slept for this time. */
void feed_link_await_reading(FeedLink *link, uint64_t usec);
/* The consumer examines a client's file, which may take a call of any length. */
void feed_link_await_sink(FeedLink *link);
/* on_closed reports a closed consumer. If sending fails, the timer gives the consumer up. */
void feed_link_send(FeedLink *link, const ControlMessage *message, const int *fds, size_t n_fds);
/* A message without contents. */
void feed_link_send_type(FeedLink *link, ControlType type, const int *fds, size_t n_fds);
void feed_link_send_guard(FeedLink *link, const Trace *trace);
/* fds: as ring_files_open() returns them. */
void feed_link_send_rings(FeedLink *link, unsigned n_cpus, const int *fds);
void feed_link_send_members(FeedLink *link, const FeedMembers *members);
/* n: at most CONTROL_INNER_LIST_MAX. If it fails, the stream shows none. */
void feed_link_send_inner_pids(FeedLink *link, const ControlInnerPid *pids, size_t n);
/* The stream must show none. */
void feed_link_end_inner_pids(FeedLink *link);
