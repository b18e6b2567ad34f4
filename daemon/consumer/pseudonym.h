/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#define PSEUDONYM_CACHED 1024

/* Stand-ins of one session for words that are not told: equal words have equal ones. */
typedef struct Pseudonyms {
        uint64_t key[2];

        struct {
                uint64_t word, pseudonym;
        } cache[PSEUDONYM_CACHED];
} Pseudonyms;

/* With a new key; -errno. */
int pseudonyms_init(Pseudonyms *pseudonyms);
/* 0 for 0, and for nothing else; never in the kernel's range. */
uint64_t pseudonym_get(Pseudonyms *pseudonyms, uint64_t word);
