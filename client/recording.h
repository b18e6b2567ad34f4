/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "child.h"
#include "json.h"
#include "output.h"

typedef struct RecordingOptions {
        json_object *spec;
        Output *output;
        Child *child; /* held back; NULL: none */
        const char *command;
        bool quiet;
        bool ask_password; /* where policy wants one */
} RecordingOptions;

/* Records from CreateSession to Destroy and tells all that happens. Returns the exit status. */
int recording_run(const RecordingOptions *options);
