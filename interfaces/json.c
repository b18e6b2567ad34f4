/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one strict JSON loader: configuration, policy, spec files, stream metadata. It builds json-c
 * objects itself, because json-c's own tokener (0.16, strict) does not keep positions, lets a later
 * duplicate key win, saturates numbers, and accepts NaN, control characters and lone surrogates. It
 * accepts RFC 8259, except NUL, which C strings cannot hold.
 *
 * The text may be hostile. JSON_MAX_DEPTH limits the recursion. JSON_MAX_BYTES of text and
 * JSON_MAX_VALUES values (fewer in a message) limit the memory. json-c seeds its hash from the
 * kernel. Each refusal is one line with the line number. Errors other than syntax errors also
 * contain the path. This file parses objects and arrays; json-scalar.c reads strings and
 * numbers; json-cursor.c keeps the place and describes errors. */

#include "interfaces/json.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/json-cursor.h"
#include "interfaces/json-scalar.h"

/* A filter has up to 32 levels of parentheses, each with an object and a list. */
#define OWN_DEPTH_MAX 256

static int json_parse_value(JsonCursor *cursor, json_object **ret);

static int enter(JsonCursor *cursor) {
        if (cursor->depth == JSON_MAX_DEPTH)
                return json_refuse_syntax(cursor, "nested too deep, the maximum is 16 levels");
        cursor->path[cursor->depth++] = (JsonStep){};
        cursor->p++;
        json_skip_space(cursor);
        return 0;
}

static int parse_array(JsonCursor *cursor, json_object **ret) {
        _cleanup_json_ json_object *array = json_object_new_array_ext(4);
        int r;

        if (!array)
                return -ENOMEM;
        r = enter(cursor);
        while (r == 0 && !json_at(cursor, ']')) {
                _cleanup_json_ json_object *value = NULL;

                cursor->path[cursor->depth - 1].index = json_object_array_length(array);
                r = json_parse_value(cursor, &value);
                if (r != 0)
                        break;
                if (json_object_array_add(array, value) < 0)
                        return -ENOMEM;
                value = NULL;

                json_skip_space(cursor);
                if (json_at(cursor, ']'))
                        break;
                if (!json_at(cursor, ','))
                        return json_refuse_found(cursor, "',' or ']' in a list");
                cursor->p++;
                json_skip_space(cursor);
                if (json_at(cursor, ']'))
                        return json_refuse_found(cursor, "a value after ','");
        }
        if (r != 0)
                return r;
        cursor->p++;
        cursor->depth--;
        *ret = TAKE_PTR(array);
        return 0;
}

/* Adds to the object's table: json_object_object_add() would hash and copy the key again. */
static int parse_member(JsonCursor *cursor, struct lh_table *members) {
        _cleanup_json_ json_object *value = NULL;
        _cleanup_free_ char *key = NULL;
        size_t size;
        int r;

        if (!json_at(cursor, '"'))
                return json_refuse_found(cursor, "a key in double quotes");
        r = json_parse_string(cursor, &size);
        if (r != 0)
                return r;
        unsigned long hash = lh_get_hash(members, cursor->scratch);
        if (lh_table_lookup_entry_w_hash(members, cursor->scratch, hash))
                return json_refuse_value(cursor,
                                &(JsonComplaint){
                                                .depth = cursor->depth - 1,
                                                .before = "key ",
                                                .quoted = cursor->scratch,
                                                .size = size,
                                                .after = "twice",
                                });
        key = strdup(cursor->scratch);
        if (!key)
                return -ENOMEM;

        json_skip_space(cursor);
        if (!json_at(cursor, ':'))
                return json_refuse_found(cursor, "':' after a key");
        cursor->p++;

        cursor->path[cursor->depth - 1].key = key;
        r = json_parse_value(cursor, &value);
        if (r != 0)
                return r;
        cursor->path[cursor->depth - 1].key = NULL;
        if (lh_table_insert_w_hash(members, key, value, hash, 0) < 0)
                return -ENOMEM;
        key = NULL; /* the object owns both */
        value = NULL;
        return 0;
}

static int json_parse_object(JsonCursor *cursor, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = enter(cursor);
        while (r == 0 && !json_at(cursor, '}')) {
                r = parse_member(cursor, json_object_get_object(object));
                if (r != 0)
                        break;

                json_skip_space(cursor);
                if (json_at(cursor, '}'))
                        break;
                if (!json_at(cursor, ','))
                        return json_refuse_found(cursor, "',' or '}' in an object");
                cursor->p++;
                json_skip_space(cursor);
                if (json_at(cursor, '}'))
                        return json_refuse_found(cursor, "a key after ','");
        }
        if (r != 0)
                return r;
        cursor->p++;
        cursor->depth--;
        *ret = TAKE_PTR(object);
        return 0;
}

static bool json_take_word(JsonCursor *cursor, const char *word) {
        size_t size = strlen(word);

        if ((size_t)(cursor->end - cursor->p) < size || memcmp(cursor->p, word, size) != 0)
                return false;
        cursor->p += size;
        return true;
}

static int parse_word(JsonCursor *cursor, json_object **ret) {
        if (json_take_word(cursor, "null")) {
                *ret = NULL; /* json-c represents null by NULL */
                return 0;
        }
        if (json_take_word(cursor, "true"))
                *ret = json_object_new_boolean(true);
        else if (json_take_word(cursor, "false"))
                *ret = json_object_new_boolean(false);
        else
                return json_refuse_found(cursor, "a JSON value");
        return *ret ? 0 : -ENOMEM;
}

static int json_parse_value(JsonCursor *cursor, json_object **ret) {
        json_skip_space(cursor);
        if (cursor->p == cursor->end)
                return json_refuse_found(cursor, "a JSON value");
        if (++cursor->n_values > cursor->max_values)
                return json_refuse_syntax(cursor, "too many values");

        if (json_at(cursor, '{'))
                return json_parse_object(cursor, ret);
        if (json_at(cursor, '['))
                return parse_array(cursor, ret);
        if (json_at(cursor, '"'))
                return json_parse_string_value(cursor, ret);
        if (json_at(cursor, '-') || json_at_digit(cursor))
                return json_parse_number(cursor, ret);
        return parse_word(cursor, ret);
}

static int parse_text(JsonCursor *cursor, json_object **ret) {
        _cleanup_json_ json_object *value = NULL;
        int r;

        json_skip_space(cursor);
        if (cursor->p == cursor->end)
                return json_refuse_syntax(cursor, "expected a JSON value, got an empty text");
        r = json_parse_value(cursor, &value);
        if (r != 0)
                return r;
        json_skip_space(cursor);
        if (cursor->p != cursor->end)
                return json_refuse_syntax(cursor, "text after the end of the JSON value");
        *ret = TAKE_PTR(value);
        return 0;
}

static int parse_whole(JsonCursor *cursor, size_t size, json_object **ret) {
        _cleanup_free_ char *scratch = NULL;

        if (size > JSON_MAX_BYTES)
                return reason_set(cursor->reason,
                                KT_E_INVALID_SPEC,
                                "%s: longer than %zu bytes",
                                cursor->source,
                                JSON_MAX_BYTES);
        cursor->scratch = scratch = malloc(size + 1);
        if (!scratch)
                return -ENOMEM;
        /* The decimal point must be '.' in every locale of the client's user. */
        cursor->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (cursor->locale == (locale_t)0)
                return -ENOMEM;
        int r = parse_text(cursor, ret);
        freelocale(cursor->locale);
        return r;
}

int json_parse_message(const char *source,
                const char *text,
                size_t size,
                size_t max_values,
                json_object **ret,
                Reason *reason) {
        JsonCursor cursor = {
                .source = source,
                .text = text,
                .p = text,
                .end = text + size,
                .max_values = max_values,
                .reason = reason,
        };

        return parse_whole(&cursor, size, ret);
}

size_t json_find_mistake(const char *text, size_t size) {
        _cleanup_json_ json_object *object = NULL;
        JsonCursor cursor = {
                .text = text,
                .p = text,
                .end = text + size,
                .max_values = JSON_MAX_VALUES,
        };

        (void)parse_whole(&cursor, size, &object);
        return (size_t)(cursor.p - text);
}

int json_parse_strict(const char *source,
                const char *text,
                size_t size,
                json_object **ret,
                Reason *reason) {
        return json_parse_message(source, text, size, JSON_MAX_VALUES, ret, reason);
}

json_object *json_parse_own(const char *text) {
        json_tokener *tokener = json_tokener_new_ex(OWN_DEPTH_MAX);

        if (!tokener)
                return NULL;
        json_object *object = json_tokener_parse_ex(tokener, text, -1);
        json_tokener_free(tokener);
        return object;
}
