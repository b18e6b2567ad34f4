/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The hashes by which chunks and files are compared, on both ends. Uses libgcrypt, which libsystemd
 * loads anyway. */

#include "broker/hash.h"

#include <errno.h>
#include <gcrypt.h>
#include <stdbool.h>
#include <stdio.h>

struct Hash {
        gcry_md_hd_t handle;
};

static bool hash_is_ready(void) {
        if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
                return true;
        if (!gcry_check_version(NULL))
                return false;
        /* The data is not a secret of this process. */
        return gcry_control(GCRYCTL_DISABLE_SECMEM, 0) == 0 &&
               gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0) == 0;
}

int hash_new(Hash **ret) {
        _cleanup_(hash_free_cleanup) Hash *hash = calloc(1, sizeof(*hash));

        if (!hash)
                return -ENOMEM;
        if (!hash_is_ready() || gcry_md_open(&hash->handle, GCRY_MD_SHA256, 0) != 0)
                return -ENOTSUP;
        *ret = TAKE_PTR(hash);
        return 0;
}

Hash *hash_free(Hash *hash) {
        if (!hash)
                return NULL;
        gcry_md_close(hash->handle);
        free(hash);
        return NULL;
}

void hash_reset(Hash *hash) {
        gcry_md_reset(hash->handle);
}

void hash_add(Hash *hash, const void *data, size_t size) {
        gcry_md_write(hash->handle, data, size);
}

void hash_finish(Hash *hash, char ret[static HASH_DIGITS + 1]) {
        const unsigned char *digest = gcry_md_read(hash->handle, GCRY_MD_SHA256);

        for (size_t i = 0; i < HASH_DIGITS / 2; i++)
                (void)sprintf(ret + 2 * i, "%02x", digest[i]);
        hash_reset(hash);
}

void hash_make(Hash *hash, const void *data, size_t size, char ret[static HASH_DIGITS + 1]) {
        hash_reset(hash);
        hash_add(hash, data, size);
        hash_finish(hash, ret);
}
