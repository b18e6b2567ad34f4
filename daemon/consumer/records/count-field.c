/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads one field of a record by the format of its event. Used by counts.c and command-names.c. A
 * record is not trusted: each offset is compared with the size of the record. */

#include "consumer/records/count-field.h"

#include <errno.h>
#include <string.h>

int count_field_find(const Format *format, const char *name, CountField *ret) {
        const FormatField *field = format_field_find(format, name);

        if (!field && strcmp(name, "common_cpu") == 0) {
                *ret = (CountField){ .is_cpu = true, .is_signed = true };
                return 0;
        }
        if (!field)
                return -ENOENT;
        *ret = (CountField){
                .kind = field->kind,
                .offset = field->offset,
                .size = field->size,
                .is_signed = field->is_signed,
                .is_string = field->is_string,
        };
        return 0;
}

/* A copy of a size that the compiler knows is one instruction. */
static uint64_t read_bytes(const uint8_t *at, uint32_t size) {
        uint64_t number = 0;

        switch (size) {
        case 8:
                memcpy(&number, at, 8);
                break;
        case 4:
                memcpy(&number, at, 4);
                break;
        default:
                memcpy(&number, at, size);
        }
        return number;
}

uint64_t count_field_read_number(const CountField *field, const uint8_t *record, size_t size) {
        unsigned bits = field->size * 8;

        if (field->size > sizeof(uint64_t) || field->offset > size ||
                        field->size > size - field->offset || bits == 0)
                return 0;
        uint64_t number = read_bytes(record + field->offset, field->size);
        if (field->is_signed && bits < 64 && number >> (bits - 1))
                number |= UINT64_MAX << bits;
        return number;
}

/* Finds the payload of a located field. Returns false when it is not inside the record. */
static bool find_payload(const CountField *field,
                const uint8_t *record,
                size_t size,
                size_t *ret_begin,
                size_t *ret_size) {
        uint32_t location;

        *ret_begin = field->offset;
        *ret_size = field->size;
        if (field->offset > size)
                return false;
        if (field->kind == FIELD_PLAIN) {
                /* An array without a size goes to the end of the record. */
                if (field->size == 0)
                        *ret_size = size - field->offset;
                return *ret_size <= size - field->offset;
        }
        if (size - field->offset < sizeof(location))
                return false;
        memcpy(&location, record + field->offset, sizeof(location));
        *ret_begin = location & 0xffff;
        *ret_size = location >> 16;
        if (field->kind == FIELD_REL_LOC)
                *ret_begin += field->offset + sizeof(location);
        return *ret_begin <= size && *ret_size <= size - *ret_begin;
}

const char *count_field_find_text(const CountField *field,
                const uint8_t *record,
                size_t size,
                size_t *ret_size) {
        size_t begin, room;

        *ret_size = 0;
        if (!find_payload(field, record, size, &begin, &room))
                return "";
        const char *text = (const char *)record + begin;
        *ret_size = strnlen(text, room);
        return text;
}

const char *count_field_read_text(const CountField *field,
                const uint8_t *record,
                size_t size,
                size_t *ret_size) {
        const char *text = count_field_find_text(field, record, size, ret_size);

        *ret_size = MIN_OF(*ret_size, (size_t)COUNT_TEXT_MAX);
        return text;
}
