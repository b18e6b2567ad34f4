/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one strict JSON loader: configuration, policy, spec files, stream metadata. It builds json-c
 * objects itself, because json-c's own tokener (0.16, strict) does not keep positions, lets a later
 * duplicate key win, saturates numbers, and accepts NaN, control characters and lone surrogates. It
 * accepts RFC 8259, except NUL, which C strings cannot hold.
 *
 * The text may be hostile. JSON_MAX_DEPTH limits the recursion. JSON_MAX_BYTES of text and
 * JSON_MAX_VALUES values (fewer in a message) limit the memory. json-c seeds its hash from the
 * kernel. Each refusal is one line with the line number. Errors other than syntax errors also
 * contain the path. This file parses objects and arrays and keeps the path; json-scalar.c reads
 * strings and numbers. */

#include "interfaces/json.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/json-parts.h"
#include "interfaces/json-scalar.h"
#include "interfaces/utf8.h"

#define WORD_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static int json_parse_value(JsonParser *parser, json_object **ret);

static size_t line_of(const JsonParser *parser) {
        size_t line = 1;

        for (const char *p = parser->text; p < parser->p; p++)
                line += *p == '\n';
        return line;
}

int json_refuse_syntax(JsonParser *parser, const char *what) {
        return reason_set(parser->reason,
                        KT_E_INVALID_SPEC,
                        "%s:%zu: %s",
                        parser->source,
                        line_of(parser),
                        what);
}

/* Also says what was found: a word or one character. */
int json_refuse_found(JsonParser *parser, const char *expected) {
        size_t left = (size_t)(parser->end - parser->p), size = 0;
        char what[128];

        while (size < MIN_OF(left, (size_t)32) &&
                        memchr(WORD_CHARACTERS, parser->p[size], strlen(WORD_CHARACTERS)))
                size++;
        if (size == 0 && left > 0)
                size = MAX_OF(utf8_length(parser->p, left), (size_t)1);
        if (left == 0)
                snprintf(what, sizeof(what), "expected %s, got the end", expected);
        else
                snprintf(what,
                                sizeof(what),
                                "expected %s, got '%.*s'",
                                expected,
                                (int)size,
                                parser->p);
        return json_refuse_syntax(parser, what);
}

/* "rules[2].events: ", or "" at the top level. */
static void format_path(const JsonParser *parser, size_t depth, char *out, size_t size) {
        size_t used = 0;

        out[0] = '\0';
        for (size_t i = 0; i < depth && used < size - 1; i++) {
                const JsonStep *step = &parser->path[i];
                int n;

                if (step->key)
                        n = snprintf(out + used, size - used, "%s%.64s", i ? "." : "", step->key);
                else
                        n = snprintf(out + used, size - used, "[%zu]", step->index);
                used += (size_t)MAX_OF(n, 0);
        }
        if (used > 0 && used < size - 2)
                memcpy(out + used, ": ", 3);
}

int json_refuse_value(JsonParser *parser, const JsonComplaint *complaint) {
        char path[256];

        format_path(parser, complaint->depth, path, sizeof(path));
        return reason_set(parser->reason,
                        KT_E_INVALID_SPEC,
                        "%s:%zu: %s%s\"%.*s%s\" %s",
                        parser->source,
                        line_of(parser),
                        path,
                        complaint->before,
                        (int)MIN_OF(complaint->size, (size_t)64),
                        complaint->quoted,
                        complaint->size > 64 ? "..." : "",
                        complaint->after);
}

static void skip_space(JsonParser *parser) {
        while (json_at(parser, ' ') || json_at(parser, '\n') || json_at(parser, '\r') ||
                        json_at(parser, '\t'))
                parser->p++;
}

static int enter(JsonParser *parser) {
        if (parser->depth == JSON_MAX_DEPTH)
                return json_refuse_syntax(parser, "nested too deep, the maximum is 16 levels");
        parser->path[parser->depth++] = (JsonStep){};
        parser->p++;
        skip_space(parser);
        return 0;
}

static int parse_array(JsonParser *parser, json_object **ret) {
        _cleanup_json_ json_object *array = json_object_new_array_ext(4);
        int r;

        if (!array)
                return -ENOMEM;
        r = enter(parser);
        while (r == 0 && !json_at(parser, ']')) {
                _cleanup_json_ json_object *value = NULL;

                parser->path[parser->depth - 1].index = json_object_array_length(array);
                r = json_parse_value(parser, &value);
                if (r != 0)
                        break;
                if (json_object_array_add(array, value) < 0)
                        return -ENOMEM;
                value = NULL;

                skip_space(parser);
                if (json_at(parser, ']'))
                        break;
                if (!json_at(parser, ','))
                        return json_refuse_found(parser, "',' or ']' in a list");
                parser->p++;
                skip_space(parser);
                if (json_at(parser, ']'))
                        return json_refuse_found(parser, "a value after ','");
        }
        if (r != 0)
                return r;
        parser->p++;
        parser->depth--;
        *ret = TAKE_PTR(array);
        return 0;
}

/* Adds to the object's table: json_object_object_add() would hash and copy the key again. */
static int parse_member(JsonParser *parser, struct lh_table *members) {
        _cleanup_json_ json_object *value = NULL;
        _cleanup_free_ char *key = NULL;
        size_t size;
        int r;

        if (!json_at(parser, '"'))
                return json_refuse_found(parser, "a key in double quotes");
        r = json_parse_string(parser, &size);
        if (r != 0)
                return r;
        unsigned long hash = lh_get_hash(members, parser->scratch);
        if (lh_table_lookup_entry_w_hash(members, parser->scratch, hash))
                return json_refuse_value(parser,
                                &(JsonComplaint){
                                                .depth = parser->depth - 1,
                                                .before = "key ",
                                                .quoted = parser->scratch,
                                                .size = size,
                                                .after = "twice",
                                });
        key = strdup(parser->scratch);
        if (!key)
                return -ENOMEM;

        skip_space(parser);
        if (!json_at(parser, ':'))
                return json_refuse_found(parser, "':' after a key");
        parser->p++;

        parser->path[parser->depth - 1].key = key;
        r = json_parse_value(parser, &value);
        if (r != 0)
                return r;
        parser->path[parser->depth - 1].key = NULL;
        if (lh_table_insert_w_hash(members, key, value, hash, 0) < 0)
                return -ENOMEM;
        key = NULL; /* the object owns both */
        value = NULL;
        return 0;
}

static int json_parse_object(JsonParser *parser, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = enter(parser);
        while (r == 0 && !json_at(parser, '}')) {
                r = parse_member(parser, json_object_get_object(object));
                if (r != 0)
                        break;

                skip_space(parser);
                if (json_at(parser, '}'))
                        break;
                if (!json_at(parser, ','))
                        return json_refuse_found(parser, "',' or '}' in an object");
                parser->p++;
                skip_space(parser);
                if (json_at(parser, '}'))
                        return json_refuse_found(parser, "a key after ','");
        }
        if (r != 0)
                return r;
        parser->p++;
        parser->depth--;
        *ret = TAKE_PTR(object);
        return 0;
}

static bool json_take_word(JsonParser *parser, const char *word) {
        size_t size = strlen(word);

        if ((size_t)(parser->end - parser->p) < size || memcmp(parser->p, word, size) != 0)
                return false;
        parser->p += size;
        return true;
}

static int parse_word(JsonParser *parser, json_object **ret) {
        if (json_take_word(parser, "null")) {
                *ret = NULL; /* json-c represents null by NULL */
                return 0;
        }
        if (json_take_word(parser, "true"))
                *ret = json_object_new_boolean(true);
        else if (json_take_word(parser, "false"))
                *ret = json_object_new_boolean(false);
        else
                return json_refuse_found(parser, "a JSON value");
        return *ret ? 0 : -ENOMEM;
}

static int json_parse_value(JsonParser *parser, json_object **ret) {
        skip_space(parser);
        if (parser->p == parser->end)
                return json_refuse_found(parser, "a JSON value");
        if (++parser->n_values > parser->max_values)
                return json_refuse_syntax(parser, "too many values");

        if (json_at(parser, '{'))
                return json_parse_object(parser, ret);
        if (json_at(parser, '['))
                return parse_array(parser, ret);
        if (json_at(parser, '"'))
                return json_parse_string_value(parser, ret);
        if (json_at(parser, '-') || json_at_digit(parser))
                return json_parse_number(parser, ret);
        return parse_word(parser, ret);
}

static int parse_text(JsonParser *parser, json_object **ret) {
        _cleanup_json_ json_object *value = NULL;
        int r;

        skip_space(parser);
        if (parser->p == parser->end)
                return json_refuse_syntax(parser, "expected a JSON value, got an empty text");
        r = json_parse_value(parser, &value);
        if (r != 0)
                return r;
        skip_space(parser);
        if (parser->p != parser->end)
                return json_refuse_syntax(parser, "text after the end of the JSON value");
        *ret = TAKE_PTR(value);
        return 0;
}

static int parse_whole(JsonParser *parser, size_t size, json_object **ret) {
        _cleanup_free_ char *scratch = NULL;

        if (size > JSON_MAX_BYTES)
                return reason_set(parser->reason,
                                KT_E_INVALID_SPEC,
                                "%s: longer than %zu bytes",
                                parser->source,
                                JSON_MAX_BYTES);
        parser->scratch = scratch = malloc(size + 1);
        if (!scratch)
                return -ENOMEM;
        /* The decimal point must be '.' in every locale of the client's user. */
        parser->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (parser->locale == (locale_t)0)
                return -ENOMEM;
        int r = parse_text(parser, ret);
        freelocale(parser->locale);
        return r;
}

int json_parse_message(const char *source,
                const char *text,
                size_t size,
                size_t max_values,
                json_object **ret,
                Reason *reason) {
        JsonParser parser = {
                .source = source,
                .text = text,
                .p = text,
                .end = text + size,
                .max_values = max_values,
                .reason = reason,
        };

        return parse_whole(&parser, size, ret);
}

size_t json_find_mistake(const char *text, size_t size) {
        _cleanup_json_ json_object *object = NULL;
        JsonParser parser = {
                .text = text,
                .p = text,
                .end = text + size,
                .max_values = JSON_MAX_VALUES,
        };

        (void)parse_whole(&parser, size, &object);
        return (size_t)(parser.p - text);
}

int json_parse_strict(const char *source,
                const char *text,
                size_t size,
                json_object **ret,
                Reason *reason) {
        return json_parse_message(source, text, size, JSON_MAX_VALUES, ret, reason);
}
