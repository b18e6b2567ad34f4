/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hosts/host-list.h"
#include "terminal/context.h"

typedef struct HostsRecordOptions {
        const Context *context; /* with the command line */
        const HostList *hosts;
        const char *directory; /* new or empty */
        bool has_command;
} HostsRecordOptions;

/* Records on all machines into the directory and reports all errors. Returns the exit status. */
int hosts_record(const HostsRecordOptions *options);
