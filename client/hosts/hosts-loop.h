/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>

#include "hosts/text-queue.h"
#include "interfaces/error.h"

/* What each work on several machines has: a loop that begins with one machine after the other,
 * signals, a clock, and two outputs for lines. */
typedef struct HostsLoop {
        sd_event *event;
        sigset_t mask;     /* before: for ssh */
        TextSink sinks[2]; /* standard output and standard error */
        int output_error;  /* of standard output, which takes no more; 0: none */
        size_t n_machines, n_begun;
        unsigned n_signals;
        uint64_t signal_usec;
        sd_event_source *signals[3], *timer, *starter;
        /* Starts ssh for the next machine, whose index is n_begun - 1. */
        void (*on_next)(void *userdata);
        /* Whether ssh was started and the machine has not answered. */
        bool (*is_connecting)(size_t machine, void *userdata);
        /* Called a few times in a second. */
        void (*on_tick)(void *userdata);
        /* A signal came; n_signals counts those of a burst once. */
        void (*on_signal)(int number, void *userdata);
        /* Lines have been written, or standard output takes no more. */
        void (*on_room)(void *userdata);
        void *userdata;
} HostsLoop;

/* The callbacks are set. Call it before any process is started. Allows enough open files for the
 * machines. Returns 0, -errno, or KT_E_FAILED with a reason. */
int hosts_loop_init(HostsLoop *loop, size_t n_machines, Reason *reason);
bool hosts_loop_is_flushed(const HostsLoop *loop);
/* As message_print(), but never waits for the reader. */
void hosts_loop_print(HostsLoop *loop, const char *format, ...) _printf_(2, 3);
/* After the loop: lets signals end this process again, so that messages can wait for a reader. */
void hosts_loop_unblock_signals(HostsLoop *loop);
/* Reports a failed standard output. Returns 0, -EPIPE, or another -errno that was reported. */
int hosts_loop_report_output(const HostsLoop *loop);
void hosts_loop_done(HostsLoop *loop);
