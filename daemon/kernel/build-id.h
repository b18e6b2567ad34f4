/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#define BUILD_ID_BYTES_MAX  64
#define BUILD_ID_DIGITS_MAX (2 * BUILD_ID_BYTES_MAX)

/* Finds the build id in ELF notes, in hexadecimal. -ENODATA: the notes have none; -EBADMSG:
 * malformed notes. */
int build_id_find(const void *notes, size_t size, char ret[static BUILD_ID_DIGITS_MAX + 1]);
/* Reads the build id of the running kernel. */
int build_id_read(char ret[static BUILD_ID_DIGITS_MAX + 1]);
