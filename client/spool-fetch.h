/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export.h"
#include "proxy.h"
#include "verb.h"

typedef struct SpoolWish {
        const char *name;   /* or id */
        const char *path;   /* NULL: ID.kts; "-": standard output; may be a directory */
        const char *format; /* NULL: by the path's suffix */
        const char *file;   /* NULL: all streams */
} SpoolWish;

/* The recording with this id or, failing that, the newest of this name. */
int spool_resolve(Proxy *proxy, const char *name, char **ret_id, Reason *reason);
/* 0, an exit status without a reason, or a failure with one. */
int spool_fetch(Context *context, Proxy *proxy, const SpoolWish *wish, Reason *reason);
/* A file of an entry, or with NULL all its streams, as they come. */
int spool_fetch_into(Proxy *proxy, const char *id, const char *file, int to, Reason *reason);
