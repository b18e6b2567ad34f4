/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The place in a JSON text that is being parsed: the next byte, and the path of keys and indexes to
 * the value. json.c and json-scalar.c use it. The functions that refuse the text add the line of
 * the next byte to the reason, and the path if the error is not a syntax error. */

#include "interfaces/json-cursor.h"

#include <stdio.h>
#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/utf8.h"

#define WORD_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

bool json_at(const JsonCursor *cursor, char c) {
        return cursor->p < cursor->end && *cursor->p == c;
}

bool json_at_digit(const JsonCursor *cursor) {
        return cursor->p < cursor->end && ascii_is_digit(*cursor->p);
}

void json_skip_space(JsonCursor *cursor) {
        while (json_at(cursor, ' ') || json_at(cursor, '\n') || json_at(cursor, '\r') ||
                        json_at(cursor, '\t'))
                cursor->p++;
}

static size_t json_cursor_get_line(const JsonCursor *cursor) {
        size_t line = 1;

        for (const char *p = cursor->text; p < cursor->p; p++)
                line += *p == '\n';
        return line;
}

int json_refuse_syntax(JsonCursor *cursor, const char *what) {
        return reason_set(cursor->reason,
                        KT_E_INVALID_SPEC,
                        "%s:%zu: %s",
                        cursor->source,
                        json_cursor_get_line(cursor),
                        what);
}

int json_refuse_found(JsonCursor *cursor, const char *expected) {
        size_t left = (size_t)(cursor->end - cursor->p), size = 0;
        char what[128];

        while (size < MIN_OF(left, (size_t)32) &&
                        memchr(WORD_CHARACTERS, cursor->p[size], strlen(WORD_CHARACTERS)))
                size++;
        if (size == 0 && left > 0)
                size = MAX_OF(utf8_length(cursor->p, left), (size_t)1);
        if (left == 0)
                snprintf(what, sizeof(what), "expected %s, got the end", expected);
        else
                snprintf(what,
                                sizeof(what),
                                "expected %s, got '%.*s'",
                                expected,
                                (int)size,
                                cursor->p);
        return json_refuse_syntax(cursor, what);
}

int json_refuse_value(JsonCursor *cursor, const JsonComplaint *complaint) {
        char path[256];

        json_path_format(cursor->path, complaint->depth, path, sizeof(path));
        return reason_set(cursor->reason,
                        KT_E_INVALID_SPEC,
                        "%s:%zu: %s%s\"%.*s%s\" %s",
                        cursor->source,
                        json_cursor_get_line(cursor),
                        path,
                        complaint->before,
                        (int)MIN_OF(complaint->size, (size_t)64),
                        complaint->quoted,
                        complaint->size > 64 ? "..." : "",
                        complaint->after);
}
