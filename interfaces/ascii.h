/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool ascii_is_digit(char c);
bool ascii_is_alphanumeric(char c);
/* Whether the text consists of exactly n digits of 0-9 and a-f, such as an id. */
bool ascii_is_hex(const char *text, size_t n);
