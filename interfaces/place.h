/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"
#include "interfaces/json.h"

/* A file of JSON that is read. */
typedef struct PlaceFile {
        const char *name;
        const char *page; /* the man page that lists its keys */
        const char *text; /* messages then have a line and a column; NULL: only the path */
        size_t size;
        Reason *reason;
} PlaceFile;

/* A position in a file, as messages show it: "50-x.json: rules[2].events[0].cut". Created on the
 * stack, each one inside its parent. */
typedef struct Place {
        const PlaceFile *file;
        const struct Place *around; /* NULL: the file itself */
        const char *key;            /* NULL: an entry of a list, or the file itself */
        size_t index;
} Place;

Place place_of_file(const PlaceFile *file);
Place place_of_key(const Place *around, const char *key);
Place place_of_entry(const Place *around, size_t index);

/* Returns KT_E_INVALID_SPEC, with the place and the error. */
int place_refuse(const Place *place, const char *format, ...) _printf_(2, 3);
/* The same: "expected FORMAT, got VALUE". */
int place_refuse_value(const Place *place, json_object *o, const char *format, ...) _printf_(3, 4);
/* Returns KT_E_UNKNOWN_KEY. guess: the key that may be meant; NULL: no key is similar. */
int place_refuse_key(const Place *place, const char *guess);

/* Each reads the expected value at the place, or refuses it. Strings: 1 to max bytes, without
 * NUL. */
int place_read_string(const Place *place, json_object *o, size_t max, const char **ret);
/* The same as a copy, which replaces *ret. */
int place_read_copy(const Place *place, json_object *o, size_t max, char **ret);
int place_read_boolean(const Place *place, json_object *o, bool *ret);
int place_read_number(const Place *place,
                json_object *o,
                uint64_t min,
                uint64_t max,
                uint64_t *ret);

/* Reads one entry of a list; `target` belongs to the caller. */
typedef int (*PlaceReader)(void *target, json_object *o, const Place *place);
/* Reads each entry of a list of 1 to max entries. */
int place_read_list(const Place *place, json_object *o, size_t max, PlaceReader read, void *target);

/* Strings of 1 to max_size bytes. On failure the list may contain some of them. */
typedef struct PlaceStrings {
        char **strings;
        size_t n;
} PlaceStrings;

int place_read_strings(const Place *place,
                json_object *o,
                size_t max,
                size_t max_size,
                PlaceStrings *ret);
void place_strings_clear(PlaceStrings *strings);

/* A key of an object and the function that reads its value. */
typedef struct PlaceKey {
        const char *name;
        PlaceReader read;
} PlaceKey;

/* Reads an object that may have only these keys. */
int place_read_object(const Place *place,
                json_object *o,
                const PlaceKey *keys,
                size_t n_keys,
                void *target);

/* The same with the text of a file. */
int place_read_text(const PlaceFile *file, const PlaceKey *keys, size_t n_keys, void *target);
