/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Whether two texts are equal, or both NULL. */
static inline bool text_is_same(const char *a, const char *b) {
        return a && b ? strcmp(a, b) == 0 : a == b;
}
