/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "terminal/context.h"

typedef struct SpoolFetch {
        const char *name;   /* or the id */
        const char *path;   /* NULL: ID.kts; "-": standard output; may be a directory */
        const char *format; /* NULL: by the path's suffix */
        const char *file;   /* NULL: all streams */
} SpoolFetch;

/* Finds the recording with this id or, if there is none, the newest with this name. *ret_goes_on:
 * it is still recorded; may be NULL. */
int spool_resolve(Proxy *proxy, const char *name, char **ret_id, bool *ret_goes_on, Reason *reason);
/* Returns 0, an exit status when the error is already reported, or a code with reason. */
int spool_fetch(Context *context, Proxy *proxy, const SpoolFetch *fetch, Reason *reason);
/* Copies one file of an entry or, when file is NULL, all its streams. */
int spool_fetch_into(Proxy *proxy, const char *id, const char *file, int to, Reason *reason);
