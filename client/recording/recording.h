/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "recording/child.h"
#include "recording/flight.h"
#include "recording/output.h"

typedef struct RecordingOptions {
        json_object *spec;
        const Origins *origins; /* where in the options each part of the spec stands */
        Output *output;         /* for a flight recorder: of its first snapshot */
        Flight *flight;         /* NULL: the stream is recorded */
        bool is_spooled;        /* written to the machine's disk by the daemon; no local output */
        const char *path, *format; /* of the output */
        Child *child;              /* not yet released; NULL: none */
        const char *command;
        bool quiet;
        ProxyDoor door;
        bool ask_password; /* when policy requires one */
        int gate_fd;       /* where it waits for its start; -1: it does not */
        int series_fd;     /* a socket to far.c, see series.h; -1: there is one stream */
} RecordingOptions;

/* Records from CreateSession to Destroy and reports all errors. Returns the exit status. */
int recording_run(const RecordingOptions *options);
/* Prints a line such as "t.dat: 12,345 events, 1.2 MB, none lost". note: of lost events, after
 * their number; NULL: none. */
void recording_report_result(const Output *output,
                uint64_t n_events,
                uint64_t n_lost,
                bool is_quiet,
                const char *note);
