/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trace/text-block.h"

/* Counts the ASCII at the start, which is nearly always the whole text. */
size_t text_escape_count_plain(const char *text, size_t size);
/* Appends the text. Bytes that a terminal may act on become \xNN, except tabs and, in a text of
 * several lines, newlines. */
void text_escape_add(TextBlock *block, const char *text, size_t size, bool is_multiline);

/* Whether each of 8 bytes is printable ASCII: neither below a space nor above a tilde. */
static inline bool text_escape_word_is_plain(const char *text) {
        static const uint64_t ones = UINT64_C(0x0101010101010101);
        uint64_t word;

        memcpy(&word, text, 8);
        return (((word - ones * ' ') | (word + ones) | word) & ones * 0x80) == 0;
}
