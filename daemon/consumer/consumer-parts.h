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

void consumer_report(Consumer *c, ControlType type, int error, const char *text);
int consumer_watch(Consumer *c, int fd, Source source, uint32_t events);
/* The last frames. */
int consumer_put_summary(Consumer *c,
                Queue *queue,
                const char *code,
                const char *reason,
                size_t names_max);

/* consumer-counts.c */
/* Before the stream is set up: the plan of the histograms. */
int consumer_take_counts(Consumer *c, int fd);
int consumer_on_counts(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds);
/* All rings are there: answers what came before them. */
int consumer_answer_early(Consumer *c);
/* A question that came early waits for a proof of the members. */
bool consumer_awaits_proof(Consumer *c);
/* There is room for more of an answer. */
void consumer_on_teller(Consumer *c);
/* Tells the daemon how often notify triggers were hit. */
void consumer_report_hits(Consumer *c);

/* consumer-spool.c */
int consumer_set_up_spool(Consumer *c, const ControlMessage *message);
int consumer_on_spool_file(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds);
/* Puts what there is room for, and leaves the rest in the rings. -ENOMEM. */
int consumer_leave_spool(Consumer *c);
void consumer_on_sync(Consumer *c);
void consumer_tick_spool(Consumer *c);
/* userdata: the consumer */
void consumer_report_spool(void *userdata);
/* While that can still be done: before the sandbox is closed. */
void consumer_limit_spool(const ControlMessage *setup);
/* To ADOPT: as things stand, with all that was given so far. */
void consumer_answer_spool(Consumer *c);
