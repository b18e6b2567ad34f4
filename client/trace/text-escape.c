/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Escapes text of traced programs, which choose it: a terminal obeys control characters, also when
 * the text reaches it through a pipe or a file. Called by formats that people read. */

#include "trace/text-escape.h"

#include "interfaces/utf8.h"

/* C0, DEL, C1 and bytes that are not UTF-8: a terminal may act on each of them. */
static size_t text_escape_harmless(const char *text, size_t size) {
        size_t length = utf8_length(text, size);
        unsigned char first = (unsigned char)text[0];

        if (length == 1)
                return first >= 0x20 && first != 0x7f ? 1 : 0;
        if (length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0)
                return 0;
        return length;
}

/* Counts the ASCII at the start, which is nearly always the whole text. */
size_t text_escape_count_plain(const char *text, size_t size) {
        size_t n = 0;

        while (size - n >= 8 && text_escape_word_is_plain(text + n))
                n += 8;
        while (n < size && text[n] >= ' ' && text[n] < 0x7f)
                n++;
        return n;
}

void text_escape_add(TextBlock *block, const char *text, size_t size, bool is_multiline) {
        while (size > 0) {
                size_t length = text_escape_harmless(text, size);

                if (length == 0 && (text[0] == '\t' || (text[0] == '\n' && is_multiline)))
                        length = 1;
                if (length == 0) {
                        text_block_add_format(block, "\\x%02x", (unsigned)(unsigned char)text[0]);
                        length = 1;
                } else
                        text_block_add(block, text, length);
                text += length;
                size -= length;
        }
}
