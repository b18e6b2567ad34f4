/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#define DIGEST_DIGITS 64

/* Computes SHA-256 in hexadecimal. Returns 0 or -errno. */
int digest_make(const void *data, size_t size, char ret[static DIGEST_DIGITS + 1]);
