/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/counts-reply.h"
#include "consumer/inner-list.h"
#include "consumer/name-list.h"
#include "consumer/pump.h"
#include "consumer/syncer.h"

/* The loop of ktrace-consumer for a stream, and its state. consumer-spool.c and consumer-counts.c
 * handle the messages and events of the disk and of histograms for it, consumer-wake.c decides what
 * wakes it, and consumer-report.c tells others about it. */

typedef enum Source {
        SOURCE_CONTROL = 1,
        SOURCE_TIMER,
        SOURCE_SINK,
        SOURCE_CLIENT,
        SOURCE_SYNC,
        SOURCE_REPLY,
        SOURCE_RING
} Source;

typedef struct Consumer {
        Watchdog watchdog;
        int epoll_fd, timer_fd;
        bool is_control_open;
        int client_fd; /* the socket of OpenSink */
        Queue queue;
        Syncer syncer;
        SpoolSink spool; /* when the spool is the sink */
        int sync_fd;     /* the spool's timer */
        bool sync_is_planned;
        unsigned n_spool_ticks; /* valid only while the spool takes no data */
        uint64_t reported_bytes;
        bool has_sink, sink_is_watched;
        Pump pump;
        bool is_active, is_resting;
        bool is_shared;     /* the session shares an instance: VIEW comes instead of rings */
        uint64_t tick_nsec; /* of the timer */
        bool is_flushing, is_finishing, is_released;
        bool is_discarding; /* the daemon does not trust the unread data */
        bool is_left;       /* the daemon went away, another one may come */
        unsigned n_idle_ticks;
        uint64_t written_at_tick;
        uint64_t n_interferences, interference_nsec;
        char end_code[32], end_text[CONTROL_TEXT_MAX];
        NameList names;
        InnerList inner;
        char *metadata; /* for the next sink of a counted stream */
        size_t metadata_size;
        CountsReply reply;
        bool reply_is_watched;
        ControlMessage question; /* waits for the rings or for a proof; type 0: no question */
        uint64_t question_nsec;  /* when it arrived */
        int question_fd;
} Consumer;

/* Makes descriptors and threads, which the sandbox forbids later. */
int consumer_init(Consumer *c);
/* Moves the stream until it ends, and reports how it ended. */
int consumer_run(Consumer *c);
