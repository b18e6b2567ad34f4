/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/cleanup.h"

#define HASH_DIGITS 64

/* SHA-256 of data that comes in parts, in hexadecimal. */
typedef struct Hash Hash;

int hash_new(Hash **ret);
Hash *hash_free(Hash *hash);
DEFINE_CLEANUP(Hash, hash_free);
void hash_reset(Hash *hash);
void hash_add(Hash *hash, const void *data, size_t size);
/* The hash of what was added since the last reset. Resets it. */
void hash_finish(Hash *hash, char ret[static HASH_DIGITS + 1]);
/* Of one piece of data. */
void hash_make(Hash *hash, const void *data, size_t size, char ret[static HASH_DIGITS + 1]);
