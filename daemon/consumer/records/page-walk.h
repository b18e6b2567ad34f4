/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "consumer/records/page.h"
#include "interfaces/cleanup.h"

/* The walk over the records of one sub-buffer. page.c describes their layout. The functions are
 * inline, because a walk takes a few nanoseconds for each record. */

#define COMMIT_MISSED        (1U << 31)
#define COMMIT_MISSED_STORED (1U << 30)
#define COMMIT_MASK          ((1U << 20) - 1)

#define TYPE_DATA_MAX 28
#define TYPE_PADDING  29
#define TYPE_EXTEND   30
#define TYPE_STAMP    31
#define TYPE_MASK     31U
#define DELTA_ONE     (1U << 5)
#define DELTA_BITS    27
#define STAMP_MSBS    ((uint64_t)0xf8 << 56) /* an absolute time has no room for them */

/* The position of a walk. */
typedef struct Walk {
        uint8_t *page;
        size_t at, end;
        uint64_t nsec;
        bool is_cleaning; /* zero the bodies of padding */
        bool owes_nsec;   /* drop_record() added 1 ns: subtract it from the next delta */
} Walk;

/* A data record: `size` bytes of body, in `whole` bytes that start at its word. */
typedef struct Record {
        uint8_t *word, *body;
        size_t whole, size;
} Record;

static inline uint32_t page_get_u32(const uint8_t *at) {
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static inline void page_put_u32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
}

static inline size_t page_get_commit(const uint8_t *page, size_t size) {
        size_t commit = page_get_u32(page + 8) & COMMIT_MASK;

        return MIN_OF(commit, size - PAGE_HEADER_SIZE);
}

static inline Walk page_walk_begin(const uint8_t *page, size_t size, bool is_cleaning) {
        Walk walk = { .page = (uint8_t *)page, .is_cleaning = is_cleaning };

        if (size < PAGE_HEADER_SIZE)
                return walk;
        memcpy(&walk.nsec, page, sizeof(walk.nsec));
        walk.at = PAGE_HEADER_SIZE;
        walk.end = PAGE_HEADER_SIZE + page_get_commit(page, size);
        return walk;
}

/* Subtracts the nanosecond that drop_record() added from the delta of this entry. Returns the new
 * word. */
static inline uint32_t walk_pay(Walk *walk, uint8_t *at, uint32_t word) {
        uint32_t type = word & TYPE_MASK, least = type == TYPE_PADDING ? 2 : 1;

        if (type == TYPE_STAMP)
                walk->owes_nsec = false;
        else if (word >> 5 >= least) {
                word -= DELTA_ONE;
                page_put_u32(at, word);
                walk->owes_nsec = false;
        }
        return word;
}

/* Handles a record whose length is in its second word, and entries that are no data records.
 * Returns false when the entry cannot be parsed. */
bool walk_long(Walk *walk, uint32_t word, Record *ret);

/* Works on a copy: the compiler can keep a walk in registers only if its address is never taken. */
static inline bool walk_slowly(Walk *walk, uint32_t word, Record *ret) {
        Walk copy = *walk;
        Record record = {};
        bool is_good = walk_long(&copy, word, &record);

        *walk = copy;
        *ret = record;
        return is_good;
}

/* Finds the next data record. Returns false at the end, and also when the walk cannot continue
 * (then walk->at < walk->end). */
static inline bool walk_next(Walk *walk, Record *ret) {
        while (walk->end - walk->at >= 4) {
                uint8_t *at = walk->page + walk->at;
                uint32_t word = page_get_u32(at), type = word & TYPE_MASK;

                if (__builtin_expect(walk->owes_nsec, 0))
                        word = walk_pay(walk, at, word);
                if (__builtin_expect(type - 1 < TYPE_DATA_MAX, 1)) {
                        size_t whole = 4 + 4 * (size_t)type;

                        if (whole > walk->end - walk->at)
                                return false;
                        *ret = (Record){ at, at + 4, whole, whole - 4 };
                        walk->nsec += word >> 5;
                        walk->at += whole;
                        return true;
                }
                if (!walk_slowly(walk, word, ret))
                        return false;
                if (ret->size > 0)
                        return true;
        }
        return false;
}

static inline uint16_t page_get_id(const Record *record) {
        uint16_t id;

        memcpy(&id, record->body, sizeof(id)); /* a body has at least 4 bytes */
        return id;
}
