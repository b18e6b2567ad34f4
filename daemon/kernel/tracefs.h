/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interfaces/error.h"

/* The tracefs mount; all access to tracefs uses it. Immutable after tracefs_open: may be used from
 * any thread. */
typedef struct Tracefs {
        int fd; /* O_RDONLY|O_DIRECTORY */
        char *path;
        bool has_hist; /* see tracefs_has_hist() */
} Tracefs;

#define TRACEFS_READ_MAX ((size_t)4 * 1024 * 1024)

/* Returns 0. KT_E_NO_TRACING: with a reason that distinguishes missing, empty (lockdown),
 * read-only, not permitted and not a tracefs, each with its remedy. -errno for other errors. For a
 * test's fake tree the file system type is not checked: see tracefs.c. */
int tracefs_open(const char *path, Tracefs **ret, Reason *reason);
Tracefs *tracefs_free(Tracefs *tracefs);
DEFINE_CLEANUP(Tracefs, tracefs_free);
/* Returns whether this kernel has histograms (CONFIG_HIST_TRIGGERS). The answer is always the
 * same. */
bool tracefs_has_hist(const Tracefs *tracefs);

/* Writes the whole text with one write(2) to an existing file below dirfd, O_WRONLY without O_TRUNC
 * (O_TRUNC on set_event_pid would trace all tasks). Returns -errno on failure. */
int tracefs_write(int dirfd, const char *path, const char *text);
/* For the few files where a write replaces the contents: O_WRONLY|O_TRUNC. */
int tracefs_write_truncate(int dirfd, const char *path, const char *text);
int tracefs_read(int dirfd, const char *path, char **ret, size_t *ret_size);
/* Reads a list of events or probes. The kernel writes a page of it at a time and then continues by
 * position: when an entry before that is removed during the read, another one is missing in the
 * text. A text of more than a page is therefore read until two texts are the same, 128 times at
 * most. */
int tracefs_read_list(int dirfd, const char *path, char **ret);
/* Opens a file for repeated reads from its beginning. */
int tracefs_open_file(int dirfd, const char *path);
int tracefs_read_u64(int dirfd, const char *path, uint64_t *ret);
