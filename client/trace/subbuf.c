/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Walks the records of one ring buffer sub-buffer in the kernel's format (kernel
 * include/linux/ring_buffer.h, kernel/trace/ring_buffer.c: struct buffer_data_page). Called by the
 * trace reader and the live export. Owns nothing. libtraceevent's kbuffer does the same but trusts
 * every length. A page from a file is not trusted, so each length is checked here. Little-endian
 * only. */

#include <endian.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "trace/subbuf.h"

#define COMMIT_MASK    ((UINT64_C(1) << 27) - 1)
#define MISSED_EVENTS  (UINT64_C(1) << 31)
#define MISSED_STORED  (UINT64_C(1) << 30)
#define DELTA_BITS     27
#define TIMESTAMP_MSBS (UINT64_C(0xf8) << 56)

enum {
        ENTRY_LONG = 0, /* the next word contains the length */
        ENTRY_PADDING = 29,
        ENTRY_TIME_EXTEND = 30,
        ENTRY_TIME_STAMP = 31,
};

static uint32_t subbuf_get_u32(const uint8_t *p) {
        uint32_t value;

        memcpy(&value, p, sizeof(value));
        return le32toh(value);
}

static uint64_t subbuf_get_u64(const uint8_t *p) {
        uint64_t value;

        memcpy(&value, p, sizeof(value));
        return le64toh(value);
}

static int64_t missed_events(uint64_t commit,
                const uint8_t *behind,
                size_t size,
                unsigned long_size) {
        int64_t count;

        if (!(commit & MISSED_EVENTS))
                return 0;
        /* The kernel stores the number after the records when there is room for it. */
        if (!(commit & MISSED_STORED) || size < long_size)
                return -1;
        count = long_size == 8 ? (int64_t)subbuf_get_u64(behind) : (int64_t)subbuf_get_u32(behind);
        return count > 0 ? count : -1;
}

void subbuf_open(Subbuf *walk,
                const uint8_t *page,
                size_t size,
                unsigned long_size,
                int64_t *ret_missed) {
        size_t header = 8 + long_size, committed;
        uint64_t commit;

        *walk = (Subbuf){ 0 };
        *ret_missed = 0;
        if (size < header) {
                walk->is_damaged = size > 0;
                return;
        }

        walk->ts = subbuf_get_u64(page);
        commit = long_size == 8 ? subbuf_get_u64(page + 8) : subbuf_get_u32(page + 8);
        committed = commit & COMMIT_MASK;
        walk->data = page + header;
        walk->size = MIN_OF(committed, size - header);
        walk->is_damaged = committed > size - header;
        *ret_missed = missed_events(
                        commit, walk->data + walk->size, size - header - walk->size, long_size);
}

static bool end_damaged(Subbuf *walk) {
        walk->is_damaged = true;
        walk->next = walk->size;
        return false;
}

bool subbuf_next(Subbuf *walk, const uint8_t **ret_data, uint32_t *ret_size, uint64_t *ret_ts) {
        while (walk->size - walk->next >= 4) {
                const uint8_t *entry = walk->data + walk->next;
                size_t left = walk->size - walk->next - 4;
                uint32_t word = subbuf_get_u32(entry), type = word & 31, length;
                uint64_t delta = word >> 5;

                if (type > ENTRY_LONG && type < ENTRY_PADDING) {
                        length = type * 4;
                        entry += 4;
                } else {
                        /* All other types have a second word. */
                        if (left < 4)
                                return end_damaged(walk);
                        length = subbuf_get_u32(entry + 4);
                        entry += 8;
                        left -= 4;
                        switch (type) {
                        case ENTRY_TIME_EXTEND:
                                walk->ts += ((uint64_t)length << DELTA_BITS) + delta;
                                walk->next += 8;
                                continue;
                        case ENTRY_TIME_STAMP:
                                /* An absolute time stamp lacks its five highest bits. */
                                walk->ts = (walk->ts & TIMESTAMP_MSBS) |
                                           (((uint64_t)length << DELTA_BITS) + delta);
                                walk->next += 8;
                                continue;
                        case ENTRY_PADDING:
                                /* Padding without a delta fills the rest of the sub-buffer. */
                                if (delta == 0 || length < 4 || length - 4 > left) {
                                        walk->next = walk->size;
                                        walk->is_padded = true;
                                        return false;
                                }
                                walk->ts += delta;
                                walk->next += 4 + (size_t)length;
                                continue;
                        default:
                                if (length < 4 || length - 4 > left)
                                        return end_damaged(walk);
                                length = MIN_OF((length - 4 + 3) & ~UINT32_C(3), (uint32_t)left);
                        }
                }
                if (length > left)
                        return end_damaged(walk);

                walk->ts += delta;
                walk->next = (size_t)(entry - walk->data) + length;
                *ret_data = entry;
                *ret_size = length;
                *ret_ts = walk->ts;
                return true;
        }
        if (walk->next < walk->size)
                return end_damaged(walk);
        return false;
}
