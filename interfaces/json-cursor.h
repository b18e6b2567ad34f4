/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <locale.h>
#include <stdbool.h>

#include "interfaces/json-path.h"
#include "interfaces/json.h"

/* The place in a text that is being parsed. */
typedef struct JsonCursor {
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
} JsonCursor;

/* An error that is not a syntax error. `size` bytes of `quoted` are quoted between `before` and
 * `after`. The path consists of the first `depth` steps. */
typedef struct JsonComplaint {
        size_t depth;
        const char *before, *quoted, *after;
        size_t size;
} JsonComplaint;

bool json_at(const JsonCursor *cursor, char c);
bool json_at_digit(const JsonCursor *cursor);
void json_skip_space(JsonCursor *cursor);
/* Fill the reason with the error and its place in the text. Return KT_E_INVALID_SPEC. */
int json_refuse_syntax(JsonCursor *cursor, const char *what);
/* Also says what was found: a word or one character. */
int json_refuse_found(JsonCursor *cursor, const char *expected);
int json_refuse_value(JsonCursor *cursor, const JsonComplaint *complaint);
