/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Different numbers, in the order in which they were added. */
typedef struct NumberSet {
        uint64_t *numbers;
        size_t n_numbers;
        uint32_t *places; /* hashed; an index into numbers plus 1, or 0 */
        size_t max;       /* a power of two */
} NumberSet;

/* Returns 0 or -ENOMEM. */
int number_set_init(NumberSet *set, size_t max);
void number_set_clear(NumberSet *set);
/* Adds the number unless it is there. Returns its index plus 1, or 0 if the set is full. */
size_t number_set_add(NumberSet *set, uint64_t number);
