/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rare entries of a sub-buffer, for page-walk.h. The function is not inline, because the common
 * records need its registers. */

#include "consumer/records/page-walk.h"

#include "interfaces/defence.h"

static void clear_body(const Walk *walk, size_t from, size_t size) {
        if (walk->is_cleaning && defence_is_on("holes"))
                memset(walk->page + from, 0, size);
}

bool walk_long(Walk *walk, uint32_t word, Record *ret) {
        size_t left = walk->end - walk->at;
        uint8_t *at = walk->page + walk->at;
        uint32_t type = word & TYPE_MASK;

        ret->size = 0;
        if (word == TYPE_PADDING) {
                clear_body(walk, walk->at + 4, left - 4);
                walk->at = walk->end;
                return true;
        }
        if (left < 8)
                return false;
        uint64_t second = page_get_u32(at + 4);
        if (type >= TYPE_EXTEND) {
                uint64_t time = (second << DELTA_BITS) + (word >> 5);

                walk->nsec = type == TYPE_EXTEND ? walk->nsec + time
                                                 : (walk->nsec & STAMP_MSBS) | time;
                walk->at += 8;
                return true;
        }
        size_t whole = 4 + (size_t)second;
        if (whole < 8 || whole > left || whole % 4 != 0)
                return false;
        if (type == TYPE_PADDING)
                clear_body(walk, walk->at + 8, whole - 8);
        else
                *ret = (Record){ at, at + 8, whole, whole - 8 };
        walk->nsec += word >> 5;
        walk->at += whole;
        return true;
}
