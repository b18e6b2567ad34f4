/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads and prints the values of a record's fields. Called by the formats that show each field. */

#include "trace/field-value.h"

static void field_value_add_number(TextBlock *block, uint64_t value, bool is_signed) {
        if (is_signed)
                text_block_add_signed(block, (int64_t)value);
        else
                text_block_add_decimal(block, value);
}

static void field_value_add_array(TextBlock *block,
                const EventLayoutField *field,
                const uint8_t *data,
                uint32_t size) {
        text_block_add_char(block, '[');
        for (uint32_t i = 0; i + field->element <= size; i += field->element) {
                if (i > 0)
                        text_block_add_char(block, ',');
                field_value_add_number(block,
                                event_layout_number(data + i, field->element, field->is_signed),
                                field->is_signed);
        }
        text_block_add_char(block, ']');
}

static uint64_t field_value_swap(uint64_t value, uint32_t size) {
        return __builtin_bswap64(value) >> (64 - 8 * size);
}

size_t field_value_get_text(const EventLayoutField *field, const Record *record, const char **ret) {
        uint32_t offset, size;

        event_layout_locate(field, record->data, record->size, &offset, &size);
        /* The place of an empty text may be outside of the record. */
        const char *text = size > 0 ? (const char *)record->data + offset : "";
        size_t n = strnlen(text, size);
        *ret = text;
        /* The kernel adds a newline to text written to trace_marker. */
        return field->size == 0 && n > 0 && text[n - 1] == '\n' ? n - 1 : n;
}

uint64_t field_value_get_number(const EventLayoutField *field, const Record *record) {
        bool is_signed = field->is_signed && field->kind == EVENT_LAYOUT_NUMBER;
        uint64_t number = event_layout_number(record->data + field->offset, field->size, is_signed);

        return field->is_swapped ? field_value_swap(number, field->size) : number;
}

void field_value_add(TextBlock *block, const EventLayoutField *field, const Record *record) {
        uint32_t offset, size;

        if (field->kind == EVENT_LAYOUT_NUMBER)
                field_value_add_number(
                                block, field_value_get_number(field, record), field->is_signed);
        else if (field->kind == EVENT_LAYOUT_POINTER) {
                text_block_add(block, "0x", 2);
                text_block_add_hex(block, field_value_get_number(field, record));
        } else {
                event_layout_locate(field, record->data, record->size, &offset, &size);
                field_value_add_array(block, field, record->data + offset, size);
        }
}
