/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"
#include "trace/text-block.h"

/* {"name":value,...}. The record must fit. */
void json_value_add_fields(TextBlock *block, const EventLayout *layout, const Record *record);
