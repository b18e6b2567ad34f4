/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the line and column of a value in a JSON text, to show an error to the file's author.
 * Called once, after an error was found, because parsed objects have no positions (json.c). The
 * text has been parsed before and is not checked again: if it does not match, the place is not
 * found. A key that is written with escapes is not found either. */

#include "interfaces/json-place.h"

#include <stdint.h>
#include <string.h>

#include "interfaces/json.h"

typedef struct Walk {
        const char *p, *end;
} Walk;

JsonPlace json_place_of(const char *text, size_t offset) {
        JsonPlace place = { 1, 1 };

        for (size_t i = 0; i < offset; i++) {
                if (text[i] == '\n')
                        place = (JsonPlace){ place.line + 1, 1 };
                else if (((unsigned char)text[i] & 0xc0) != 0x80) /* first byte of a character */
                        place.column++;
        }
        return place;
}

static char json_place_look(Walk *walk) {
        while (walk->p < walk->end && *walk->p && strchr(" \t\r\n", *walk->p))
                walk->p++;
        return walk->p < walk->end ? *walk->p : '\0';
}

static bool json_place_take(Walk *walk, char c) {
        if (json_place_look(walk) != c)
                return false;
        walk->p++;
        return true;
}

static void json_place_skip_string(Walk *walk) {
        for (walk->p++; walk->p < walk->end && *walk->p != '"'; walk->p++)
                if (*walk->p == '\\')
                        walk->p++;
        walk->p++;
}

/* Skips the value and everything in it. Brackets inside strings do not count. */
static void skip_value(Walk *walk) {
        size_t depth = 0;

        do {
                char c = json_place_look(walk);

                if (c == '"') {
                        json_place_skip_string(walk);
                } else {
                        depth += c == '{' || c == '[';
                        depth -= (c == '}' || c == ']') && depth > 0;
                        walk->p++;
                        while (depth == 0 && walk->p < walk->end && !strchr(",]} \t\r\n", *walk->p))
                                walk->p++; /* a number or a word */
                }
        } while (depth > 0 && walk->p < walk->end);
}

/* Moves to the member's value; *ret_key is the place of its key. */
static bool enter_member(Walk *walk, const char *key, size_t size, const char **ret_key) {
        if (!json_place_take(walk, '{'))
                return false;
        while (json_place_look(walk) == '"') {
                const char *begin = walk->p;

                json_place_skip_string(walk);
                bool is_it = (size_t)(walk->p - begin) == size + 2 &&
                             memcmp(begin + 1, key, size) == 0;
                if (!json_place_take(walk, ':'))
                        return false;
                (void)json_place_look(walk);
                *ret_key = begin;
                if (is_it)
                        return true;
                skip_value(walk);
                if (!json_place_take(walk, ','))
                        return false;
        }
        return false;
}

static bool enter_entry(Walk *walk, size_t index) {
        if (!json_place_take(walk, '['))
                return false;
        for (size_t i = 0; i < index; i++) {
                (void)json_place_look(walk);
                skip_value(walk);
                if (!json_place_take(walk, ','))
                        return false;
        }
        return json_place_look(walk) != ']' && json_place_look(walk) != '\0';
}

/* One step: "[2]", "key" or ".key". */
static bool enter_step(Walk *walk, const char **path, const char **ret_key) {
        size_t index = 0, size;

        if (**path != '[') {
                *path += **path == '.';
                size = strcspn(*path, ".[");
                *path += size;
                return enter_member(walk, *path - size, size, ret_key);
        }
        for ((*path)++; **path >= '0' && **path <= '9' && index < SIZE_MAX / 16; (*path)++)
                index = index * 10 + (size_t)(**path - '0');
        if (**path != ']')
                return false;
        (*path)++;
        *ret_key = NULL;
        return enter_entry(walk, index);
}

bool json_find_place(const char *text, size_t size, const char *path, bool of_key, JsonPlace *ret) {
        Walk walk = { text, text + size };
        const char *key = NULL;

        (void)json_place_look(&walk);
        while (*path)
                if (!enter_step(&walk, &path, &key))
                        return false;
        if (walk.p >= walk.end)
                return false;
        *ret = json_place_of(text, (size_t)((of_key && key ? key : walk.p) - text));
        return true;
}

/* The reason begins with "SOURCE: " or "SOURCE:3: ". */
int json_place_refuse(const char *source, const char *text, size_t size, Reason *reason) {
        JsonPlace place = json_place_of(text, json_find_mistake(text, size));
        Reason inner = *reason;
        const char *what = inner.text + strlen(source);

        what += strspn(what, ":0123456789");
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s:%zu:%zu: %s",
                        source,
                        place.line,
                        place.column,
                        what + strspn(what, " "));
}
