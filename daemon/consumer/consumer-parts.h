/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/counts-teller.h"
#include "consumer/name-list.h"
#include "consumer/pump.h"
#include "consumer/syncer.h"

/* What the files of ktrace-consumer (consumer.c, consumer-spool.c) have of each other; for nobody
 * else. */
typedef enum Source {
        SOURCE_CONTROL = 1,
        SOURCE_TIMER,
        SOURCE_SINK,
        SOURCE_CLIENT,
        SOURCE_SYNC,
        SOURCE_TELLER,
        SOURCE_RING
} Source;

typedef struct Consumer {
        Watchdog watchdog;
        int epoll_fd, timer_fd;
        bool is_control_open;
        int client_fd; /* the socket of OpenSink */
        Queue queue;
        Syncer syncer;
        SpoolSink spool;        /* where that is the sink */
        int sync_fd;            /* its timer */
        unsigned n_spool_ticks; /* while it takes nothing; else of no meaning */
        uint64_t told_bytes;
        bool has_sink, sink_is_watched;
        Pump pump;
        bool is_active, is_resting;
        bool is_flushing, is_finishing, is_released;
        bool is_discarding; /* the daemon does not trust what is still to be read */
        bool is_left;       /* the daemon went away, another one may come */
        unsigned n_idle_ticks;
        uint64_t written_at_tick;
        uint64_t n_interferences, interference_nsec;
        char end_code[32], end_text[CONTROL_TEXT_MAX];
        NameList names;
        char *metadata; /* where sinks come and go: kept for the next one */
        size_t metadata_size;
        CountsTeller teller;
        bool teller_is_watched;
        ControlMessage question; /* waits for the rings or for a proof; type 0: none */
        uint64_t question_nsec;  /* when it came */
        int question_fd;
} Consumer;

/* consumer-counts.c */
