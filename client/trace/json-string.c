/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints text as a string of JSON. Called by all formats that are JSON. Traced programs choose the
 * text, so control characters are escaped too: a terminal would act on them. */

#include "trace/json-string.h"

#include "interfaces/utf8.h"
#include "trace/text-escape.h"

/* Whether each of 8 bytes is in JSON as it is. */
static bool json_string_word_is_plain(const char *text) {
        static const uint64_t ones = UINT64_C(0x0101010101010101);
        uint64_t word, quote, backslash;

        memcpy(&word, text, 8);
        quote = word ^ ones * '"';
        backslash = word ^ ones * '\\';
        return text_escape_word_is_plain(text) &&
               ((((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & ones * 0x80) == 0;
}

/* Counts the bytes at the start that JSON has as they are. */
static size_t json_string_count_plain(const char *text, size_t size) {
        size_t n = 0;

        while (size - n >= 8 && json_string_word_is_plain(text + n))
                n += 8;
        while (n < size && text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
                n++;
        return n;
}

void json_string_add(TextBlock *block, const char *text, size_t size) {
        text_block_add_char(block, '"');
        while (size > 0) {
                size_t plain = json_string_count_plain(text, size), length;
                unsigned char c;

                text_block_add(block, text, plain);
                text += plain;
                size -= plain;
                if (size == 0)
                        break;
                length = utf8_length(text, size);
                c = (unsigned char)text[0];
                if (length == 0) {
                        text_block_add(block, "\\ufffd", 6);
                        length = 1;
                } else if (length > 1 && (c != 0xc2 || (unsigned char)text[1] >= 0xa0))
                        text_block_add(block, text, length);
                else if (c == '"' || c == '\\') {
                        text_block_add_char(block, '\\');
                        text_block_add_char(block, (char)c);
                } else /* control characters, also C1: a terminal would act on them */
                        text_block_add_format(block,
                                        "\\u%04x",
                                        (unsigned)(length > 1 ? (unsigned char)text[1] : c));
                text += length;
                size -= length;
        }
        text_block_add_char(block, '"');
}
