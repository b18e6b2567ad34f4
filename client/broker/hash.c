/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The hashes by which chunks and files are compared, on both ends. SHA-256 is libgcrypt's, which
 * libsystemd loads anyway. XXH3 is that of libxxhash: where the CPU has no instructions for SHA-256
 * it takes a thirtieth of the time. On x86-64, libxxhash chooses its instructions for this CPU, if
 * it was built with that. */

#include "broker/hash.h"

#include <errno.h>
#include <gcrypt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#if __has_include(<xxh_x86dispatch.h>) && defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

struct Hash {
        HashKind kind;
        XXH3_state_t *xxh3; /* NULL: the other kind */
        gcry_md_hd_t sha256;
};

static const size_t n_digits[_HASH_KIND_N] = {
        [HASH_XXH3] = 2 * sizeof(XXH128_canonical_t),
        [HASH_SHA256] = HASH_DIGITS_MAX,
};

int hash_find_kind(const char *text) {
        size_t n = strspn(text, "0123456789abcdef");

        for (HashKind kind = 0; kind < _HASH_KIND_N; kind++)
                if (n == n_digits[kind] && text[n] == '\0')
                        return (int)kind;
        return -EBADMSG;
}

static bool hash_is_ready(void) {
        if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
                return true;
        if (!gcry_check_version(NULL))
                return false;
        /* The data is not a secret of this process. */
        return gcry_control(GCRYCTL_DISABLE_SECMEM, 0) == 0 &&
               gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0) == 0;
}

static int hash_open_sha256(Hash *hash) {
        return hash_is_ready() && gcry_md_open(&hash->sha256, GCRY_MD_SHA256, 0) == 0 ? 0
                                                                                      : -ENOTSUP;
}

static int hash_open_xxh3(Hash *hash) {
        hash->xxh3 = XXH3_createState();
        return hash->xxh3 ? 0 : -ENOMEM;
}

int hash_new(HashKind kind, Hash **ret) {
        _cleanup_(hash_free_cleanup) Hash *hash = calloc(1, sizeof(*hash));

        if (!hash)
                return -ENOMEM;
        hash->kind = kind;
        int r = kind == HASH_XXH3 ? hash_open_xxh3(hash) : hash_open_sha256(hash);
        if (r < 0)
                return r;
        hash_reset(hash);
        *ret = TAKE_PTR(hash);
        return 0;
}

Hash *hash_free(Hash *hash) {
        if (!hash)
                return NULL;
        (void)XXH3_freeState(hash->xxh3);
        gcry_md_close(hash->sha256);
        free(hash);
        return NULL;
}

void hash_reset(Hash *hash) {
        if (hash->kind == HASH_XXH3)
                (void)XXH3_128bits_reset(hash->xxh3);
        else
                gcry_md_reset(hash->sha256);
}

void hash_add(Hash *hash, const void *data, size_t size) {
        if (hash->kind == HASH_XXH3)
                (void)XXH3_128bits_update(hash->xxh3, data, size);
        else
                gcry_md_write(hash->sha256, data, size);
}

void hash_finish(Hash *hash, char ret[static HASH_DIGITS_MAX + 1]) {
        XXH128_canonical_t canonical;
        const unsigned char *digest = canonical.digest;

        if (hash->kind == HASH_XXH3)
                XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash->xxh3));
        else
                digest = gcry_md_read(hash->sha256, GCRY_MD_SHA256);
        for (size_t i = 0; i < n_digits[hash->kind] / 2; i++)
                (void)sprintf(ret + 2 * i, "%02x", digest[i]);
        hash_reset(hash);
}

void hash_make(Hash *hash, const void *data, size_t size, char ret[static HASH_DIGITS_MAX + 1]) {
        hash_reset(hash);
        hash_add(hash, data, size);
        hash_finish(hash, ret);
}
