/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NEAREST_NAME_MAX  64 /* bytes; a longer name is near to no other */
#define NEAREST_NAMES_MAX 3

/* How many bytes must be inserted, deleted or replaced to turn `a` into `b`. UINT32_MAX: not less
 * than `below`, or one of them is longer than NEAREST_NAME_MAX. */
uint32_t nearest_distance(const char *a, const char *b, uint32_t below);

/* The known name that is nearest to a word. To begin with: the word, and the first distance that is
 * not near. */
typedef struct Nearest {
        const char *wanted;
        uint32_t least;
        const char *name; /* NULL: none so far */
} Nearest;

void nearest_consider(Nearest *nearest, const char *name);

/* Several names, best first. Begins as zeros. */
typedef struct NearestNames {
        const char *names[NEAREST_NAMES_MAX]; /* borrowed */
        uint32_t ranks[NEAREST_NAMES_MAX];
        size_t n;
} NearestNames;

/* rank: less is better; of equal ones the first stays first. */
void nearest_names_add(NearestNames *list, const char *name, uint32_t rank);
/* "a, b or c"; "" without names. */
void nearest_names_join(const NearestNames *list, char *text, size_t size);
