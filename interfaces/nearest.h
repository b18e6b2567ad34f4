/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NEAREST_NAME_MAX  64 /* bytes; a longer name matches nothing */
#define NEAREST_NAMES_MAX 3

/* The number of bytes to insert, delete or replace to turn `a` into `b`. UINT32_MAX: the
 * distance is `below` or more, or a name is longer than NEAREST_NAME_MAX. */
uint32_t nearest_distance(const char *a, const char *b, uint32_t below);

/* The known name that is nearest to a word. Set the word and the first distance that is too far
 * before use. */
typedef struct Nearest {
        const char *wanted;
        uint32_t least;
        const char *name; /* NULL: none found so far */
} Nearest;

void nearest_consider(Nearest *nearest, const char *name);

/* Several names, best first. Initialised with zeros. */
typedef struct NearestNames {
        const char *names[NEAREST_NAMES_MAX]; /* borrowed */
        uint32_t ranks[NEAREST_NAMES_MAX];
        size_t n;
} NearestNames;

/* rank: lower is better. Names of equal rank keep their order. */
void nearest_names_add(NearestNames *list, const char *name, uint32_t rank);
/* "a, b or c"; "" without names. */
void nearest_names_join(const NearestNames *list, char *text, size_t size);
