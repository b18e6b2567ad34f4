/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#define PSEUDONYM_CACHED 1024

/* The pseudonyms of one session for words that may not be shown: equal words get equal
 * pseudonyms. */
typedef struct Pseudonyms {
        uint64_t key[2];

        struct {
                uint64_t word, pseudonym;
        } cache[PSEUDONYM_CACHED];
} Pseudonyms;

/* Creates a new key. Returns -errno on failure. */
int pseudonyms_init(Pseudonyms *pseudonyms);
/* Returns 0 only for 0, and never a value in the kernel's range. */
uint64_t pseudonym_get(Pseudonyms *pseudonyms, uint64_t word);
