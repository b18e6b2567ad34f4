/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Replaces kernel addresses with keyed pseudonyms: SipHash-2-4 of the eight bytes. The key comes
 * from getrandom() and is kept secret, so a reader can only see which values are equal. mask.c uses
 * this. The hash takes 16 rounds, so the last words are cached. The upper 16 bits are cleared, so
 * that a pseudonym cannot be mistaken for an address. */

#include "consumer/records/pseudonym.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define PSEUDONYM_MASK (UINT64_MAX >> 16)

int pseudonyms_init(Pseudonyms *pseudonyms) {
        uint64_t key[2];

        if (getrandom(key, sizeof(key), 0) != sizeof(key))
                return errno ? -errno : -EIO;
        memset(pseudonyms, 0, sizeof(*pseudonyms)); /* 0 is the pseudonym of 0: a valid cache */
        memcpy(pseudonyms->key, key, sizeof(key));
        return 0;
}

static uint64_t pseudonym_rotate(uint64_t word, unsigned bits) {
        return word << bits | word >> (64 - bits);
}

static void sip_rounds(uint64_t v[static 4], unsigned n) {
        for (; n > 0; n--) {
                v[0] += v[1];
                v[1] = pseudonym_rotate(v[1], 13) ^ v[0];
                v[0] = pseudonym_rotate(v[0], 32);
                v[2] += v[3];
                v[3] = pseudonym_rotate(v[3], 16) ^ v[2];
                v[0] += v[3];
                v[3] = pseudonym_rotate(v[3], 21) ^ v[0];
                v[2] += v[1];
                v[1] = pseudonym_rotate(v[1], 17) ^ v[2];
                v[2] = pseudonym_rotate(v[2], 32);
        }
}

/* The input has eight bytes. The last block holds only their number. */
static uint64_t sip_hash(const uint64_t key[static 2], uint64_t word) {
        const uint64_t blocks[] = { word, (uint64_t)sizeof(word) << 56 };
        uint64_t v[] = { key[0] ^ 0x736f6d6570736575,
                key[1] ^ 0x646f72616e646f6d,
                key[0] ^ 0x6c7967656e657261,
                key[1] ^ 0x7465646279746573 };

        for (unsigned i = 0; i < 2; i++) {
                v[3] ^= blocks[i];
                sip_rounds(v, 2);
                v[0] ^= blocks[i];
        }
        v[2] ^= 0xff;
        sip_rounds(v, 4);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t pseudonym_get(Pseudonyms *pseudonyms, uint64_t word) {
        size_t slot = (word * 0x9e3779b97f4a7c15) >> 54;

        if (word == 0)
                return 0;
        _Static_assert(PSEUDONYM_CACHED == 1 << 10, "the slot is the upper 10 of 64 bits");
        if (pseudonyms->cache[slot].word != word) {
                pseudonyms->cache[slot].word = word;
                pseudonyms->cache[slot].pseudonym =
                                (sip_hash(pseudonyms->key, word) & PSEUDONYM_MASK) ?: 1;
        }
        return pseudonyms->cache[slot].pseudonym;
}
