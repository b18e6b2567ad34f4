/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"

typedef struct HostsRecordOptions {
        const Context *context; /* with the command line, and the machines of -H */
        const char *directory;  /* new or empty; NULL or "-": none was given, which is refused */
        const char *refused;    /* an option that was given, and is for one machine; NULL: none */
        bool has_command;
} HostsRecordOptions;

/* Records on all machines into the directory, or takes the snapshots of their sessions, and reports
 * all errors. Returns the exit status. */
int hosts_record(const HostsRecordOptions *options);
