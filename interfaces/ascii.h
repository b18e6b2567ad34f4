/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

bool ascii_is_digit(char c);
bool ascii_is_alphanumeric(char c);
