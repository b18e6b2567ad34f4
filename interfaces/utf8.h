/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Returns the length in bytes of the well-formed UTF-8 character at the start of `text`, or 0 if
 * it is malformed (over-long forms, surrogates, beyond U+10FFFF, cut off). RFC 3629 section 4. */
static inline size_t utf8_length(const char *text, size_t size) {
        const unsigned char *u = (const unsigned char *)text;
        unsigned char low = 0x80, high = 0xbf;
        size_t n;

        if (size == 0)
                return 0;
        if (u[0] < 0x80)
                return 1;
        if (u[0] >= 0xc2 && u[0] <= 0xdf)
                n = 2;
        else if (u[0] >= 0xe0 && u[0] <= 0xef)
                n = 3;
        else if (u[0] >= 0xf0 && u[0] <= 0xf4)
                n = 4;
        else
                return 0;
        if (size < n)
                return 0;

        if (u[0] == 0xe0)
                low = 0xa0;
        else if (u[0] == 0xed)
                high = 0x9f;
        else if (u[0] == 0xf0)
                low = 0x90;
        else if (u[0] == 0xf4)
                high = 0x8f;
        if (u[1] < low || u[1] > high)
                return 0;
        for (size_t i = 2; i < n; i++)
                if (u[i] < 0x80 || u[i] > 0xbf)
                        return 0;
        return n;
}

/* Returns the number of the character at `at`, from 1. A malformed byte counts as one. */
static inline size_t utf8_get_column(const char *text, const char *at) {
        size_t column = 1;

        for (const char *p = text; p < at; column++) {
                size_t size = utf8_length(p, (size_t)(at - p));

                p += size > 0 ? size : 1;
        }
        return column;
}

/* Returns the position, from 1, of the first byte that is not printable text: malformed, or a
 * control character. 0: all is printable. */
static inline size_t utf8_find_unprintable(const char *text, size_t size) {
        for (size_t i = 0, n; i < size; i += n) {
                n = utf8_length(text + i, size - i);
                if (n == 0 || (unsigned char)text[i] < 0x20 || text[i] == 0x7f)
                        return i + 1;
        }
        return 0;
}
