/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"
#include "interfaces/json.h"

/* Where in a rules file something stands, as messages tell it: "50-x.json: rules[2].events[0].cut".
 * Made on the stack, each from the one around it. */
typedef struct Place {
        const struct Place *around; /* NULL: the file itself */
        const char *key;            /* the file's name there; NULL: an entry of a list */
        size_t index;
        Reason *reason;
} Place;

Place place_of_file(const char *file, Reason *reason);
Place place_of_key(const Place *around, const char *key);
Place place_of_entry(const Place *around, size_t index);

/* KT_E_INVALID_SPEC, with the place and what is wrong there. */
int place_refuse(const Place *place, const char *format, ...) _printf_(2, 3);
/* The same: "expected FORMAT, got VALUE". */
int place_refuse_value(const Place *place, json_object *o, const char *format, ...) _printf_(3, 4);
/* KT_E_UNKNOWN_KEY. guess: what may have been meant, NULL: nothing is near. */
int place_refuse_key(const Place *place, const char *guess);

/* What is wanted at the place, or its refusal. Strings: 1 to max bytes, without NUL. */
int place_read_string(const Place *place, json_object *o, size_t max, const char **ret);
int place_read_boolean(const Place *place, json_object *o, bool *ret);
int place_read_number(const Place *place,
                json_object *o,
                uint64_t min,
                uint64_t max,
                uint64_t *ret);

/* One entry of a list; `target` is the caller's. */
typedef int (*PlaceReader)(void *target, json_object *o, const Place *place);
/* Each entry of a list of 1 to max. */
int place_read_list(const Place *place, json_object *o, size_t max, PlaceReader read, void *target);
/* Makes room for one more zeroed element of *list. -ENOMEM. */
int place_grow(void *list, size_t n, size_t element);

/* Strings of 1 to max_size bytes; the list may hold some when it fails. */
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

/* A key of an object and who reads its value. */
typedef struct PlaceKey {
        const char *name;
        PlaceReader read;
} PlaceKey;

/* An object with these keys and no other. */
int place_read_object(const Place *place,
                json_object *o,
                const PlaceKey *keys,
                size_t n_keys,
                void *target);
