/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/cleanup.h"
#include "remote/host.h"

#define HOST_LIST_MAX 1024

/* The machines of -H a,b,c or -H @FILE, in order. */
typedef struct HostList {
        struct HostListEntry {
                char *name; /* as the user wrote it */
                char *file; /* the name as one of a file, without a suffix */
                Host host;
        } * entries;

        size_t n;
} HostList;

/* text: see context_has_many_hosts(). Returns 0, -errno, or KT_E_INVALID_SPEC or KT_E_FAILED with a
 * reason. */
int host_list_parse(const char *text, HostList **ret, Reason *reason);
HostList *host_list_free(HostList *list);
DEFINE_CLEANUP(HostList, host_list_free);
/* Makes a file name of a host's. Returns NULL without memory. */
char *host_list_make_file(const char *name);
