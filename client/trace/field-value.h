/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"
#include "trace/text-block.h"

/* Returns the length of a field of kind EVENT_LAYOUT_STRING, and its text, which may hold any bytes
 * but NUL. The record must fit. */
size_t field_value_get_text(const EventLayoutField *field, const Record *record, const char **ret);
/* Returns a field of kind EVENT_LAYOUT_NUMBER or _POINTER. The record must fit. */
uint64_t field_value_get_number(const EventLayoutField *field, const Record *record);
/* Appends a field of any other kind: 12, 0xffff, [1,2]. The record must fit. */
void field_value_add(TextBlock *block, const EventLayoutField *field, const Record *record);
