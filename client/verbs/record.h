/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/call-style.h"
#include "recording/flight.h"
#include "spec/spec-options.h"
#include "terminal/context.h"

/* What the command line of a recording says. */
typedef struct RecordOptions {
        SpecOptions spec;
        const char *path;
        const char *format;
        char **command;   /* NULL: none */
        CallStyle *calls; /* of the format calls; gets the command's thread; NULL: the default */
        bool allow_setuid;
        Flight *flight;      /* from --snapshot-on */
        bool has_moments;    /* --snapshot-on was given */
        Origins origins;     /* of the last spec that was built */
        bool has_one_stream; /* the near side of -H takes no more than one */
        bool waits;          /* for the other machines of -H */
        bool is_spooled;     /* with -H: --spool was given */
        bool is_plain;       /* with -H: --compression none was given */
        bool is_flight;      /* with -H: --flight or --mode flight was given */
        bool has_signal;     /* with -H: --snapshot-on SIGUSR1 was given */
        bool has_exit;       /* with -H: --snapshot-on exit was given */
        bool has_events;     /* with -H: --snapshot-on with an event was given */
} RecordOptions;

/* Returns 0 or -ENOMEM. */
int record_init(RecordOptions *record);
void record_done(RecordOptions *record);
/* Checks everything, opens the output, forks the command and records. Reports all errors. Returns
 * the exit status. */
int record_conduct(RecordOptions *record, const Context *context);
/* The same with -H. Of the options it knows only those of the output: path, format, calls,
 * and those from is_spooled on, and whether there is a command. */
int record_conduct_near(RecordOptions *record, const Context *context);
