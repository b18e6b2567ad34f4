/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct NumberMapPlace {
        uint64_t key;
        void *value; /* NULL: the place is free */
} NumberMapPlace;

/* Finds a pointer by a number. All zeros: empty. Does not own the pointers. */
typedef struct NumberMap {
        NumberMapPlace *places; /* n_places is a power of two */
        size_t n_places, n_used;
} NumberMap;

void *number_map_find(const NumberMap *map, uint64_t key);
/* The key must not be in the map. Returns 0 or -ENOMEM. */
int number_map_add(NumberMap *map, uint64_t key, void *value);
/* Returns the value that was removed, or NULL. */
void *number_map_remove(NumberMap *map, uint64_t key);
/* Returns all values, in any order, followed by NULL. NULL: memory is short. */
void **number_map_list(const NumberMap *map);
void number_map_clear(NumberMap *map);
/* Also free()s the values. */
void number_map_free_all(NumberMap *map);
