/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "child.h"
#include "flight.h"
#include "interfaces/json.h"
#include "output.h"

typedef struct RecordingOptions {
        json_object *spec;
        const Origins *origins; /* of the options that it was made of */
        Output *output;         /* of a flight recorder: its first snapshot's */
        Flight *flight;         /* NULL: the stream is recorded */
        bool is_spooled; /* onto the machine's disk: nothing comes here, and no output stays */
        const char *path, *format; /* of the output */
        Child *child;              /* held back; NULL: none */
        const char *command;
        bool quiet;
        bool ask_password; /* where policy wants one */
} RecordingOptions;

/* Records from CreateSession to Destroy and tells all that happens. Returns the exit status. */
int recording_run(const RecordingOptions *options);
