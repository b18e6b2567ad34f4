/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "trace/text-block.h"

/* Counts the ASCII at the start, which is nearly always the whole text. */
size_t text_escape_count_plain(const char *text, size_t size);
/* Appends the text. Bytes that a terminal may act on become \xNN, except tabs and, in a text of
 * several lines, newlines. */
void text_escape_add(TextBlock *block, const char *text, size_t size, bool is_multiline);
