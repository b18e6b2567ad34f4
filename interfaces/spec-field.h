/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* NULL: no such key. Keys that later versions may bring are unknown like any other. */
const SpecField *spec_field_find(const char *key);
/* KT_E_UNKNOWN_KEY, naming the key and the nearest known one. */
int spec_refuse_key(const char *key, Reason *reason);
/* KT_E_INVALID_SPEC: "buffer-kb: a number is wanted, not a string". `got` is the door's word. */
int spec_refuse_type(const SpecField *field, const char *got, Reason *reason);
