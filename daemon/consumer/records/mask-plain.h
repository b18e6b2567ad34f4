/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Cuts at offsets that are known in advance. They are inline, because for most records a call would
 * cost more than the cut. */

#define MASK_NAME_SIZE 16 /* TASK_COMM_LEN */

/* WORDS_BEGIN: no kernel address is lower, even on arm64 with 52 bits and on x86-64 with five
 * levels. KERNEL_END: only error numbers are higher. */
#define WORDS_BEGIN 0xff00000000000000
#define KERNEL_END  0xfffffffffffff000

/* The bytes that a processor handles at once. */
typedef uint64_t Bits __attribute__((vector_size(16)));

/* A bit mask that is laid over a record. It zeroes the bits that it does not keep. */
typedef struct Stencil {
        Bits *kept;
        uint32_t n;           /* 0: it keeps everything */
        uint32_t begin, last; /* offsets: the blocks follow each other from begin; the last one may
                                 overlap, so that it ends inside the record */
} Stencil;

static inline uint32_t stencil_get_offset(const Stencil *stencil, uint32_t i) {
        return i + 1 < stencil->n ? stencil->begin + i * (uint32_t)sizeof(Bits) : stencil->last;
}

/* The whole stencil must be inside the record. The last block is read first: reading bytes that
 * were just written would stall the processor. */
static inline void stencil_apply(const Stencil *stencil, uint8_t *record) {
        Bits bits, last_bits;

        if (stencil->n == 0)
                return;
        const Bits *kept = stencil->kept, *last = kept + stencil->n - 1;
        memcpy(&last_bits, record + stencil->last, sizeof(last_bits));
        last_bits &= *last;
        for (uint8_t *at = record + stencil->begin; kept < last; kept++, at += sizeof(bits)) {
                memcpy(&bits, at, sizeof(bits));
                bits &= *kept;
                memcpy(at, &bits, sizeof(bits));
        }
        memcpy(record + stencil->last, &last_bits, sizeof(last_bits));
}

/* Returns the highest bit of the word's first zero byte, and perhaps bits above it. Returns 0 when
 * the word has no zero byte. */
static inline uint64_t word_find_nul(uint64_t word) {
        const uint64_t ones = 0x0101010101010101;

        _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
        return (word - ones) & ~word & ones << 7;
}

/* Keeps the bytes before the first NUL. */
static inline uint64_t word_cut(uint64_t word) {
        uint64_t nul = word_find_nul(word);

        return word & (nul ^ (nul - 1));
}

/* Zeroes the bytes after the NUL in the name of a task. It has no branch, because the length of a
 * name cannot be predicted. */
static inline void name_cut_words(uint8_t *name) {
        uint64_t words[2];

        memcpy(words, name, sizeof(words));
        words[1] = word_find_nul(words[0]) ? 0 : word_cut(words[1]);
        words[0] = word_cut(words[0]);
        memcpy(name, words, sizeof(words));
}

/* The same, in half the time. */
static inline void name_cut(uint8_t *name) {
#ifdef __SSE2__
        static const uint64_t kept[4] = { UINT64_MAX, UINT64_MAX };
        __m128i whole = _mm_loadu_si128((const __m128i *)name);
        unsigned nuls = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(whole, _mm_setzero_si128()));
        const uint8_t *from =
                        (const uint8_t *)(kept + 2) - __builtin_ctz(nuls | 1U << MASK_NAME_SIZE);

        whole = _mm_and_si128(whole, _mm_loadu_si128((const __m128i *)from));
        _mm_storeu_si128((__m128i *)name, whole);
#else
        name_cut_words(name);
#endif
}

#ifdef __SSE2__
/* Sets the sign of each word from WORDS_BEGIN to KERNEL_END. SSE2 compares no words of 64 bits. So
 * the upper halves are compared with 0xff000000, and words whose upper half is 0xffffffff and whose
 * lower half is at least 0xfffff000 are left out. */
static inline __m128i find_kernel_words(__m128i words) {
        const __m128i ones = _mm_set1_epi32(-1);
        __m128i is_high = _mm_cmpeq_epi32(_mm_srai_epi32(words, 24), ones),
                is_last = _mm_cmpeq_epi32(words, ones),
                is_error = _mm_cmpeq_epi32(_mm_srai_epi32(words, 12), ones);

        return _mm_andnot_si128(_mm_and_si128(is_last, _mm_slli_epi64(is_error, 32)), is_high);
}
#endif

/* Most records have no such word. One test for all words is cheaper than a branch for each. */
static inline bool has_kernel_words(const uint8_t *at, size_t n) {
        uint64_t found = 0, word;

#ifdef __SSE2__
        __m128i pairs = _mm_setzero_si128();

        for (; n >= 2; n -= 2, at += sizeof(pairs))
                pairs = _mm_or_si128(
                                pairs, find_kernel_words(_mm_loadu_si128((const __m128i *)at)));
        found = (unsigned)_mm_movemask_pd(_mm_castsi128_pd(pairs));
#endif
        for (size_t i = 0; i < n; i++) {
                memcpy(&word, at + i * sizeof(word), sizeof(word));
                found |= word - WORDS_BEGIN < KERNEL_END - WORDS_BEGIN;
        }
        return found;
}
