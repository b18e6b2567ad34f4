/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <locale.h>
#include <stdbool.h>

#include "interfaces/json.h"

/* Shared only by the files of the JSON loader (json.c, json-scalar.c). */

/* One step of the path to a value: a key, or an index when key is NULL. */
typedef struct JsonStep {
        const char *key;
        size_t index;
} JsonStep;

typedef struct JsonParser {
        const char *source;
        const char *text;
        const char *p; /* the next byte */
        const char *end;
        char *scratch; /* unescaped strings; never longer than their source text */
        locale_t locale;
        JsonStep path[JSON_MAX_DEPTH];
        size_t depth;
        size_t n_values, max_values;
        Reason *reason;
} JsonParser;

/* An error that is not a syntax error. `size` bytes of `quoted` are quoted between `before` and
 * `after`. The path consists of the first `depth` steps. */
typedef struct JsonComplaint {
        size_t depth;
        const char *before, *quoted, *after;
        size_t size;
} JsonComplaint;

/* json-scalar.c: each function starts at the first character of its value. */

static inline bool json_at(const JsonParser *parser, char c) {
        return parser->p < parser->end && *parser->p == c;
}

static inline bool json_at_digit(const JsonParser *parser) {
        return parser->p < parser->end && *parser->p >= '0' && *parser->p <= '9';
}
