/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "recording/absence.h"
#include "recording/child.h"

/* Events during a recording, as flags that the event loop sets. */
typedef struct Watch {
        Proxy *proxy;
        sd_event *event;
        unsigned n_signals;   /* SIGINT, SIGTERM, SIGHUP; a burst counts once */
        uint64_t signal_usec; /* when the last one came */
        unsigned patience;    /* `given_up` becomes true at this number */
        bool given_up;

        Child *child;     /* NULL: none, or not released yet */
        bool child_tried; /* the result of its exec is known */
        int exec_errno;
        bool child_gone;
        int child_status;

        char *session; /* its id; NULL: none yet */
        bool ended;    /* but not by us */
        char end_code[32];
        char end_reason[256];
        bool daemon_gone;
        bool daemon_away; /* it may come back with our session */
        bool is_loyal;    /* wait for it without a time limit */
        ProxyPending *seeking;
        void (*listener)(json_object *signal, void *userdata);
        void *userdata;

        sd_event_source *signals[3];
        sd_event_source *child_source;
        sd_event_source *outcome_source;
        sd_event_source *away_timer;
        Absence absence;
} Watch;

/* Blocks the signals that a watch reads, also for processes that are forked later. ret_mask: the
 * mask before. Must be called before any process or thread is started. */
int watch_block_signals(sigset_t *ret_mask);
/* Attaches the proxy to a new loop. */
int watch_init(Watch *watch, Proxy *proxy);
/* Must be called before the proxy is freed. */
void watch_done(Watch *watch);
int watch_add_child(Watch *watch, Child *child);
int watch_set_session(Watch *watch, const char *session);
/* Sets a listener for the session's signals, as in ProxyListener. */
void watch_set_listener(Watch *watch,
                void (*listener)(json_object *signal, void *userdata),
                void *userdata);
/* Waits for a daemon that is away without a time limit: the session continues. */
void watch_set_loyal(Watch *watch);
void watch_set_patience(Watch *watch, unsigned n_signals);
/* Whether the session, its daemon or the bus has gone. */
bool watch_is_cut(const Watch *watch);
/* Whether a session with this end code ended as its owner intended. */
bool watch_is_good_end(const char *code);
/* Runs the loop until a daemon that is being replaced is back, or the wait is given up. */
void watch_await_daemon(Watch *watch);
/* Runs the loop once. */
int watch_run(Watch *watch, uint64_t usec);
