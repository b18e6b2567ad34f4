/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"

#define COUNT_TEXT_MAX 255 /* bytes of a text that a histogram counts by */

/* Where a record holds what is counted. */
typedef struct CountField {
        FieldKind kind;
        uint32_t offset, size;
        bool is_signed, is_string;
        bool is_cpu; /* the CPU of the ring, which no record holds */
} CountField;

/* -ENOENT: the event has no such field. */
int count_field_find(const Format *format, const char *name, CountField *ret);
/* With its sign extended to 64 bits. 0 when the record is too short. */
uint64_t count_field_read_number(const CountField *field, const uint8_t *record, size_t size);
/* Up to the NUL and COUNT_TEXT_MAX bytes at most; borrowed from the record. */
const char *count_field_read_text(const CountField *field,
                const uint8_t *record,
                size_t size,
                size_t *ret_size);
