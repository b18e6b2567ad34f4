/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* Shared only by the files of the spec's setters. */

/* ctype.h is not used because it depends on the locale. */
static inline bool spec_is_digit(char c) {
        return c >= '0' && c <= '9';
}

static inline bool spec_is_alphanumeric(char c) {
        return spec_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The field's bit in Spec.set_keys. */
static inline uint32_t spec_field_bit(const SpecField *field) {
        return UINT32_C(1) << (field - spec_fields);
}
