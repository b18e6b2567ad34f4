/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "away.h"
#include "child.h"
#include "proxy.h"

/* What may happen while a stream is recorded, as flags that the event loop sets. */
typedef struct Watch {
        Proxy *proxy;
        sd_event *event;
        unsigned n_signals;   /* SIGINT, SIGTERM, SIGHUP; those that come at once are one */
        uint64_t signal_usec; /* when the last one came */
        unsigned patience;    /* this many make `given_up` true */
        bool given_up;

        Child *child;     /* NULL: none, or not yet released */
        bool child_tried; /* its exec's outcome is known */
        int exec_errno;
        bool child_gone;
        int child_status;

        char *session; /* its id; NULL: none yet */
        bool ended;    /* not by us */
        char end_code[32];
        char end_reason[256];
        bool daemon_gone;
        bool daemon_away; /* it may come again, with our session */
        bool is_loyal;    /* it is waited for however long it takes */
        ProxyPending *seeking;
        void (*listener)(json_object *signal, void *userdata);
        void *userdata;

        sd_event_source *signals[3];
        sd_event_source *child_source;
        sd_event_source *outcome_source;
        sd_event_source *away_timer;
        Away away;
} Watch;

/* Blocks the signals that a watch reads, for all processes forked later too; ret_mask: the mask
 * before. To be called before anything is started. */
int watch_block_signals(sigset_t *ret_mask);
/* Attaches proxy to a loop of its own. */
int watch_init(Watch *watch, Proxy *proxy);
/* Before the proxy is freed. */
void watch_done(Watch *watch);
int watch_add_child(Watch *watch, Child *child);
int watch_set_session(Watch *watch, const char *session);
/* Hears what is told of the session, as a proxy's listener does. */
void watch_set_listener(Watch *watch,
                void (*listener)(json_object *signal, void *userdata),
                void *userdata);
/* A daemon that is away is waited for without end: the session goes on meanwhile. */
void watch_set_loyal(Watch *watch);
void watch_set_patience(Watch *watch, unsigned n_signals);
/* The session, its daemon or the bus has gone. */
bool watch_is_cut(const Watch *watch);
/* Runs the loop until one that is being replaced is there again, or given up. */
void watch_await_daemon(Watch *watch);
/* Runs the loop once. */
int watch_run(Watch *watch, uint64_t usec);
