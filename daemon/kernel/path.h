/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* A path below tracefs, built from untrusted names. */
typedef struct TracefsPath {
        char text[PATH_MAX];
} TracefsPath;

/* Returns whether the name is a valid component of a path: [A-Za-z0-9._-], not starting with a
 * dot. */
bool path_is_name(const char *name);
/* Makes "a/b/c" of the names up to NULL; -EINVAL if one is not a valid name. */
int path_format(TracefsPath *path, ...) __attribute__((sentinel));
