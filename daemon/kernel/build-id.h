/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#define BUILD_ID_BYTES_MAX  64
#define BUILD_ID_DIGITS_MAX (2 * BUILD_ID_BYTES_MAX)

/* Finds it in ELF notes; hexadecimal. -ENODATA: there is none, -EBADMSG: these are no notes. */
int build_id_find(const void *notes, size_t size, char ret[static BUILD_ID_DIGITS_MAX + 1]);
/* The running kernel's. */
int build_id_read(char ret[static BUILD_ID_DIGITS_MAX + 1]);
