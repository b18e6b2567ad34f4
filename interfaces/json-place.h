/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/error.h"

/* Both count from 1; columns are characters. */
typedef struct JsonPlace {
        size_t line, column;
} JsonPlace;

JsonPlace json_place_of(const char *text, size_t offset);
/* Finds the place of a value in a well-formed text. The path has the form that the loader and
 * the spec's setters write ("events[2].filter"; "": the whole text). With of_key it finds the
 * value's key. */
bool json_find_place(const char *text, size_t size, const char *path, bool of_key, JsonPlace *ret);
/* Adds the place to the reason of a text that json_parse_strict() refused: "SOURCE:3:7: …". Returns
 * KT_E_INVALID_SPEC. */
int json_place_refuse(const char *source, const char *text, size_t size, Reason *reason);
