/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Longest name of a member that all readers know. */
#define TAR_NAME_MAX 99

/* Adds a file with this content. name: up to TAR_NAME_MAX bytes. Returns 0, -errno, or -EFBIG for
 * 8 GiB or more. */
int tar_add_text(FILE *out, const char *name, const char *text, size_t size);
/* The same with all of the file. */
int tar_add_file(FILE *out, const char *name, int fd);
/* Writes the end of the archive. Returns 0 or -errno. */
int tar_end(FILE *out);
