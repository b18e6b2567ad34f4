/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "interfaces/error.h"

/* The tracefs mount, the only door to it. Immutable after tracefs_open: usable from any thread. */
typedef struct Tracefs {
        int fd; /* O_RDONLY|O_DIRECTORY */
        char *path;
} Tracefs;

#define TRACEFS_READ_MAX ((size_t)4 * 1024 * 1024)

/* 0; KT_E_NO_TRACING with a reason that tells missing, empty (lockdown), read-only, not permitted
 * and not-a-tracefs apart and names the remedy of each; -errno for the rest. The check that the
 * file system type is tracefs is left out when the environment of a test build's fake tree asks so:
 * see tracefs.c. */
int tracefs_open(const char *path, Tracefs **ret, Reason *reason);
Tracefs *tracefs_free(Tracefs *tracefs);
DEFINE_CLEANUP(Tracefs, tracefs_free);

/* One write(2) of the whole text to an existing file below dirfd, O_WRONLY without O_TRUNC (an
 * O_TRUNC on set_event_pid would trace everybody). -errno. */
int tracefs_write(int dirfd, const char *path, const char *text);
/* For the few files whose meaning is "replace": O_WRONLY|O_TRUNC. */
int tracefs_write_truncate(int dirfd, const char *path, const char *text);
int tracefs_read(int dirfd, const char *path, char **ret, size_t *ret_size);
/* For reading, again and again from its beginning. */
int tracefs_open_file(int dirfd, const char *path);
int tracefs_read_u64(int dirfd, const char *path, uint64_t *ret);
