/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* In a text, from 1; columns are characters. */
typedef struct JsonPlace {
        size_t line, column;
} JsonPlace;

JsonPlace json_place_of(const char *text, size_t offset);
/* Where in a well-formed text the value stands that a path as the loader and the spec's setters
 * write it leads to ("events[2].filter"; "": the whole), or, with of_key, its key. */
bool json_find_place(const char *text, size_t size, const char *path, bool of_key, JsonPlace *ret);
