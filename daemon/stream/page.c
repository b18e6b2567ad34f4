/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One sub-buffer as the kernel laid it out: 8 bytes time stamp, 8 bytes commit, then records. Walks
 * it in place and zeroes every byte that no field of a known event owns, because the kernel does
 * not: holes between fields and the bodies of discarded records carry whatever the memory held
 * before. Pure; the bytes are believed in nothing: every length is checked against the sub-buffer,
 * and what cannot be walked is cut.
 *
 * Relies on the record layout of include/linux/ring_buffer.h: a 32-bit word of 5 bits type_len and
 * 27 bits time delta; type_len 1..28 is the length in words, 0 puts it into the next word, 29 is
 * padding (with a delta of 0 to the end of the sub-buffer), 30 and 31 carry one more word of time.
 * And on kernel/trace/ring_buffer.c: bit 31 of commit tells that events were missed, bit 30 that
 * their count is stored behind the records. */

#include "page.h"

#include <string.h>

#include "cleanup.h"

#define COMMIT_MISSED        (1U << 31)
#define COMMIT_MISSED_STORED (1U << 30)
#define COMMIT_MASK          ((1U << 20) - 1)

#define TYPE_DATA_MAX 28
#define TYPE_PADDING  29
#define TYPE_EXTEND   30
#define TYPE_STAMP    31
#define TYPE_MASK     31U
#define DELTA_ONE     (1U << 5)

static uint32_t get_u32(const uint8_t *at) {
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static void put_u32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
}

static size_t page_get_commit(const uint8_t *page, size_t size) {
        size_t commit = get_u32(page + 8) & COMMIT_MASK;

        return MIN_OF(commit, size - PAGE_HEADER_SIZE);
}

size_t page_get_used(const uint8_t *page, size_t size) {
        size_t used;

        if (size < PAGE_HEADER_SIZE)
                return 0;
        used = PAGE_HEADER_SIZE + page_get_commit(page, size);
        uint32_t stored = COMMIT_MISSED | COMMIT_MISSED_STORED;
        if ((get_u32(page + 8) & stored) == stored && size - used >= sizeof(uint64_t))
                used += sizeof(uint64_t);
        return used;
}

static void tally_pid(PageTally *tally, const uint8_t *record, size_t size) {
        if (!tally->pids || size < 8)
                return;
        uint32_t pid = get_u32(record + 4);
        uint8_t bit = (uint8_t)(1U << (pid % 8));
        if (pid < PAGE_PIDS_MAX && !(tally->pids[pid / 8] & bit)) /* mostly the same few */
                tally->pids[pid / 8] |= bit;
}

/* A data record: `body` of it, in `whole` bytes from its word on. */
static void clean_data(const Masks *masks,
                uint8_t *at,
                size_t whole,
                size_t body,
                PageTally *tally) {
        uint8_t *record = at + whole - body;
        uint16_t id = 0;

        if (body >= 2)
                memcpy(&id, record, sizeof(id));
        const Mask *mask = body >= 2 ? masks_find(masks, id) : NULL;
        if (mask) {
                tally_pid(tally, record, body);
                if (body != mask->whole_size)
                        mask_clean(masks, mask, record, body);
                return;
        }
        /* Unknown: padding of the same length. A delta of 0 would mean "to the end of the
         * sub-buffer". */
        uint32_t delta = get_u32(at) & ~TYPE_MASK;
        put_u32(at, (delta ?: DELTA_ONE) | TYPE_PADDING);
        put_u32(at + 4, (uint32_t)whole - 4);
        memset(at + 8, 0, whole - 8);
        tally->n_unknown++;
}

/* Bytes of the record at `at`, at most `left`; 0: it cannot be walked, or it is padding to the end.
 */
static size_t clean_one(const Masks *masks, uint8_t *at, size_t left, PageTally *tally) {
        uint32_t word = get_u32(at), type = word & TYPE_MASK;
        size_t whole = 8;

        if (left < 8 && type != TYPE_PADDING)
                return 0;
        if (type == TYPE_EXTEND || type == TYPE_STAMP)
                return whole;
        if (type >= 1 && type <= TYPE_DATA_MAX) {
                whole = 4 + 4 * (size_t)type;
                if (whole > left)
                        return 0;
                clean_data(masks, at, whole, whole - 4, tally);
                return whole;
        }
        if (type == TYPE_PADDING && word == TYPE_PADDING) {
                memset(at + 4, 0, left - 4);
                return left;
        }
        if (left < 8)
                return 0;
        whole = 4 + (size_t)get_u32(at + 4);
        if (whole < 8 || whole > left || whole % 4 != 0)
                return 0;
        if (type == TYPE_PADDING)
                memset(at + 8, 0, whole - 8);
        else
                clean_data(masks, at, whole, whole - 8, tally);
        return whole;
}

void page_clean(const Masks *masks, uint8_t *page, size_t size, PageTally *tally) {
        size_t end, used, at = PAGE_HEADER_SIZE;

        if (size < PAGE_HEADER_SIZE) {
                memset(page, 0, size);
                return;
        }
        end = PAGE_HEADER_SIZE + page_get_commit(page, size);
        used = page_get_used(page, size);
        while (end - at >= 4) {
                size_t whole = clean_one(masks, page + at, end - at, tally);

                if (whole == 0)
                        break;
                at += whole;
        }
        if (at < end) { /* padding to the end of what was committed */
                tally->n_unparsed++;
                memset(page + at, 0, end - at);
                if (end - at >= 4)
                        put_u32(page + at, TYPE_PADDING);
        }
        memset(page + used, 0, size - used);
}
