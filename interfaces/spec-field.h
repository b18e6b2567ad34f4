/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* The field's bit in Spec.set_keys. */
uint32_t spec_field_bit(const SpecField *field);
/* NULL: no such key. Keys of later versions are unknown too. */
const SpecField *spec_field_find(const char *key);
/* KT_E_UNKNOWN_KEY: the reason names the key and the nearest known one. */
int spec_refuse_key(const char *key, Reason *reason);
/* KT_E_INVALID_SPEC: the value has the wrong type. `got` is the input format's name for the
 * type. */
int spec_refuse_type(const SpecField *field, const char *got, Reason *reason);
