/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/text-block.h"

/* In quotes. The text may hold any bytes; what is not UTF-8 becomes U+FFFD. */
void json_string_add(TextBlock *block, const char *text, size_t size);
