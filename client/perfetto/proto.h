/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/text-block.h"

/* Appends a field that is a varint. Signed values are given sign-extended. */
void proto_add_number(TextBlock *block, unsigned field, uint64_t value);
/* Appends a string. Bytes that are not UTF-8 become U+FFFD. */
void proto_add_text(TextBlock *block, unsigned field, const char *text, size_t size);
void proto_add_string(TextBlock *block, unsigned field, const char *text);

/* Begins a field that is a message. Returns its place, for proto_close(). */
size_t proto_open(TextBlock *block, unsigned field);
/* Ends the message that was opened last and is not closed yet. */
void proto_close(TextBlock *block, size_t place);
