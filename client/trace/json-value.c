/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints the fields of records as JSON. Called by all formats that are JSON. It prints directly,
 * because an object tree per record would cost more than all the rest. */

#include "trace/json-value.h"

#include "trace/field-value.h"
#include "trace/json-string.h"

static void json_value_add_field(TextBlock *block,
                const EventLayoutField *field,
                const Record *record) {
        const char *text;
        size_t size;

        text_block_add(block, field->key, field->key_size);
        if (field->kind == EVENT_LAYOUT_STRING) {
                size = field_value_get_text(field, record, &text);
                json_string_add(block, text, size);
                return;
        }
        if (field->kind == EVENT_LAYOUT_POINTER)
                text_block_add_char(block, '"');
        field_value_add(block, field, record);
        if (field->kind == EVENT_LAYOUT_POINTER)
                text_block_add_char(block, '"');
}

void json_value_add_fields(TextBlock *block, const EventLayout *layout, const Record *record) {
        if (layout->n_fields == 0)
                text_block_add_char(block, '{');
        for (size_t i = 0; i < layout->n_fields; i++)
                json_value_add_field(block, &layout->fields[i], record);
        text_block_add_char(block, '}');
}
