/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"

#define COUNT_TEXT_MAX 255 /* bytes of a text that a histogram counts by */

/* The place of a counted value in a record. */
typedef struct CountField {
        FieldKind kind;
        uint32_t offset, size;
        bool is_signed, is_string;
        bool is_cpu; /* the CPU of the ring, which no record holds */
} CountField;

/* Fails with -ENOENT when the event has no such field. */
int count_field_find(const Format *format, const char *name, CountField *ret);
/* Returns the number, sign-extended to 64 bits. Returns 0 when the record is too short. */
uint64_t count_field_read_number(const CountField *field, const uint8_t *record, size_t size);
/* Returns the text up to the NUL. It is borrowed from the record. */
const char *count_field_find_text(const CountField *field,
                const uint8_t *record,
                size_t size,
                size_t *ret_size);
/* The same, at most COUNT_TEXT_MAX bytes of it. */
const char *count_field_read_text(const CountField *field,
                const uint8_t *record,
                size_t size,
                size_t *ret_size);
