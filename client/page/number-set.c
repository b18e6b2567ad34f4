/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A set of a limited size, which gives each number a small index. Called by formats that write a
 * table of what a trace uses. A full set stays as it is: the recording may be hostile. */

#include "page/number-set.h"

#include <errno.h>
#include <stdlib.h>

int number_set_init(NumberSet *set, size_t max) {
        *set = (NumberSet){ .max = max,
                .numbers = calloc(max, sizeof(*set->numbers)),
                .places = calloc(2 * max, sizeof(*set->places)) };
        return set->numbers && set->places ? 0 : -ENOMEM;
}

void number_set_clear(NumberSet *set) {
        free(set->numbers);
        free(set->places);
        *set = (NumberSet){};
}

size_t number_set_add(NumberSet *set, uint64_t number) {
        size_t mask = 2 * set->max - 1;
        /* The upper bits of the product depend on all bits of the number. */
        size_t place = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;

        while (set->places[place] > 0) {
                if (set->numbers[set->places[place] - 1] == number)
                        return set->places[place];
                place = (place + 1) & mask;
        }
        if (set->n_numbers == set->max)
                return 0;
        set->numbers[set->n_numbers++] = number;
        set->places[place] = (uint32_t)set->n_numbers;
        return set->n_numbers;
}
