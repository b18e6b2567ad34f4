/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>

#include "hosts/text-line.h"
#include "interfaces/error.h"

/* What each work on several machines has: a loop, signals, a clock, and two outputs for lines. */
typedef struct HostsLoop {
        sd_event *event;
        sigset_t mask;     /* before: for ssh */
        TextSink sinks[2]; /* standard output and standard error */
        unsigned n_signals;
        uint64_t signal_usec;
        sd_event_source *signals[3], *timer;
        /* Called a few times in a second. */
        void (*on_tick)(void *userdata);
        /* A signal came; n_signals counts those of a burst once. */
        void (*on_signal)(int number, void *userdata);
        /* Lines have been written. */
        void (*on_room)(void *userdata);
        void *userdata;
} HostsLoop;

/* The callbacks are set. Call it before any process is started. Allows enough open files for the
 * machines. Returns 0, -errno, or KT_E_FAILED with a reason. */
int hosts_loop_init(HostsLoop *loop, size_t n_machines, Reason *reason);
/* Whether lines wait for their reader, so that machines should be held. */
bool hosts_loop_is_full(const HostsLoop *loop);
bool hosts_loop_is_flushed(const HostsLoop *loop);
void hosts_loop_done(HostsLoop *loop);
