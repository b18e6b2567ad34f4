/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

/* Opens a directory for reading if only root (or the user who runs the daemon) can change it.
 * `path` may be relative to dirfd. Fails with -ENOENT, -errno, or KT_E_INVALID_SPEC and the
 * reason. */
int trust_open_directory(int dirfd, const char *path, int *ret, Reason *reason);
/* The same for a regular file; does not follow a symbolic link. `source` names it in messages. */
int trust_open_file(int dirfd, const char *name, const char *source, int *ret, Reason *reason);
