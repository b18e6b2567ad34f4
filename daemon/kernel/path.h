/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* A path below the tracefs, put together of names that come from outside. */
typedef struct TracefsPath {
        char text[PATH_MAX];
} TracefsPath;

/* True for a name that is one component of a path: [A-Za-z0-9._-], not beginning with a dot. */
bool path_is_name(const char *name);
/* "a/b/c" of the names up to NULL; -EINVAL when one is no name. */
int path_format(TracefsPath *path, ...) __attribute__((sentinel));
