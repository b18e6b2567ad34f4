/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording/output.h"
#include "terminal/context.h"

typedef struct NearOptions {
        const Context *context; /* with the host and the command line */
        Output *output;         /* where the stream goes; NULL: the verb has none */
        bool has_command;       /* it gets standard input, and its output is not changed */
        bool reads_input;       /* the verb itself reads standard input */
        bool may_lack_end;      /* a stream without an end is no failure */
        bool compares_clocks; /* the stream is recorded now: its receipt says how the clocks differ
                               */
        bool may_lack_stream; /* it is good without a stream: the host's disk keeps the recording,
                                 or no snapshot was asked for */
        bool is_flight;       /* each stream is a snapshot */
        bool has_signal;      /* SIGUSR1 asks for one */
        bool has_events;      /* so do events there */
        /* Opens the output of each snapshot after the first one: number 1 and more, or 0 again when
         * the first one was not kept. */
        int (*open_output)(void *userdata, unsigned number, Output **ret, Reason *reason);
        void *userdata;
} NearOptions;

/* The exit status of a recording: that of the verb there, with a failure of the output here
 * (written). */
int near_join_status(bool has_command, int status, int written);
/* Runs the command line on the host and reports all errors. Returns the exit status. */
int near_run(const NearOptions *options);
