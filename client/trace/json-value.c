/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints strings and the fields of records as JSON. Called by all formats that are JSON. It prints
 * directly, because an object tree per record would cost more than all the rest. Traced programs
 * choose the strings, so control characters are escaped too: a terminal would act on them. */

#include "trace/json-value.h"

#include "interfaces/utf8.h"
#include "trace/field-value.h"

/* Counts the bytes at the start that JSON has as they are. */
static size_t json_value_count_plain(const char *text, size_t size) {
        size_t n = 0;

        while (n < size && (unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x7f &&
                        text[n] != '"' && text[n] != '\\')
                n++;
        return n;
}

void json_value_add_string(TextBlock *block, const char *text, size_t size) {
        text_block_add_char(block, '"');
        while (size > 0) {
                size_t plain = json_value_count_plain(text, size), length;
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

static void json_value_add_field(TextBlock *block,
                const EventLayoutField *field,
                const Record *record) {
        const char *text;
        size_t size;

        text_block_add(block, field->key, field->key_size);
        if (field->kind == EVENT_LAYOUT_STRING) {
                size = field_value_get_text(field, record, &text);
                json_value_add_string(block, text, size);
                return;
        }
        if (field->kind == EVENT_LAYOUT_POINTER)
                text_block_add_char(block, '"');
        field_value_add(block, field, record);
        if (field->kind == EVENT_LAYOUT_POINTER)
                text_block_add_char(block, '"');
}

void json_value_add_fields(TextBlock *block, const EventLayout *layout, const Record *record) {
        text_block_add_char(block, '{');
        for (size_t i = 0; i < layout->n_fields; i++) {
                if (i > 0)
                        text_block_add_char(block, ',');
                json_value_add_field(block, &layout->fields[i], record);
        }
        text_block_add_char(block, '}');
}
