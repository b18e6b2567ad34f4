/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"
#include "trace/text-block.h"

/* In quotes. The text may hold any bytes; what is not UTF-8 becomes U+FFFD. */
void json_value_add_string(TextBlock *block, const char *text, size_t size);
/* {"name":value,...}. The record must fit. */
void json_value_add_fields(TextBlock *block, const EventLayout *layout, const Record *record);
