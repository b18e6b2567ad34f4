/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/cleanup.h"

#define HASH_DIGITS_MAX 64

/* XXH3 with 128 bits is made of what is sent. It finds damage. It is not for an adversary: data
 * with a given hash is easy to make. SHA-256 compares data that an adversary may have chosen, and
 * is in recordings of older versions. */
typedef enum HashKind {
        HASH_XXH3,
        HASH_SHA256,
        _HASH_KIND_N,
} HashKind;

/* Returns the kind of a hash in hexadecimal, by its length, or -EBADMSG. */
int hash_find_kind(const char *text);

/* The hash of data that comes in parts, in hexadecimal. */
typedef struct Hash Hash;

int hash_new(HashKind kind, Hash **ret);
Hash *hash_free(Hash *hash);
DEFINE_CLEANUP(Hash, hash_free);
void hash_reset(Hash *hash);
void hash_add(Hash *hash, const void *data, size_t size);
/* The hash of what was added since the last reset. Resets it. */
void hash_finish(Hash *hash, char ret[static HASH_DIGITS_MAX + 1]);
/* Of one piece of data. */
void hash_make(Hash *hash, const void *data, size_t size, char ret[static HASH_DIGITS_MAX + 1]);
