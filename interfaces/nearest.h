/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#define NEAREST_NAME_MAX 64 /* bytes; what is longer is near to nothing */

/* How many bytes must be put in, taken out or replaced to make `b` of `a`; UINT32_MAX when one is
 * longer than NEAREST_NAME_MAX. */
uint32_t nearest_distance(const char *a, const char *b);

/* Which of some names may have been meant. To begin with: the word, and the distance from which on
 * nothing is near. */
typedef struct Nearest {
        const char *wanted;
        uint32_t least;
        const char *name; /* NULL: none so far */
} Nearest;

void nearest_consider(Nearest *nearest, const char *name);
