/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Computes the hash by which a receipt identifies the rules in force. Called when rules are read.
 * Uses libgcrypt, which libsystemd loads anyway; it is then initialised for other users in this
 * process too. */

#include "policy/digest.h"

#include <errno.h>
#include <gcrypt.h>
#include <stdbool.h>
#include <stdio.h>

static bool is_ready(void) {
        if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
                return true;
        if (!gcry_check_version(NULL))
                return false;
        /* The data is not secret, and locked memory is limited. */
        return gcry_control(GCRYCTL_DISABLE_SECMEM, 0) == 0 &&
               gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0) == 0;
}

int digest_make(const void *data, size_t size, char ret[static DIGEST_DIGITS + 1]) {
        unsigned char digest[DIGEST_DIGITS / 2];

        if (!is_ready() || gcry_md_test_algo(GCRY_MD_SHA256) != 0)
                return -ENOTSUP;
        gcry_md_hash_buffer(GCRY_MD_SHA256, digest, data, size);
        for (size_t i = 0; i < sizeof(digest); i++)
                sprintf(ret + 2 * i, "%02x", digest[i]);
        return 0;
}
