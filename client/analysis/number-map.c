/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A hash table with open addressing, for threads, calls and requests. Called by the analyses. The
 * keys come from recordings, so a hostile recording can make look-ups slow, but it can only slow
 * down its own reader. */

#include "analysis/number-map.h"

#include <errno.h>
#include <stdlib.h>

static size_t number_map_hash(uint64_t key) {
        key ^= key >> 32;
        key *= UINT64_C(0x9e3779b97f4a7c15);
        return (size_t)(key ^ key >> 29);
}

/* Returns the place of the key, or the free one where it belongs. */
static NumberMapPlace *number_map_get_place(const NumberMap *map, uint64_t key) {
        size_t mask = map->n_places - 1, at = number_map_hash(key) & mask;

        while (map->places[at].value && map->places[at].key != key)
                at = (at + 1) & mask;
        return &map->places[at];
}

void *number_map_find(const NumberMap *map, uint64_t key) {
        return map->n_used > 0 ? number_map_get_place(map, key)->value : NULL;
}

static int number_map_grow(NumberMap *map) {
        NumberMap larger = { .n_places = map->n_places > 0 ? map->n_places * 2 : 64 };

        larger.places = calloc(larger.n_places, sizeof(*larger.places));
        if (!larger.places)
                return -ENOMEM;
        for (size_t i = 0; i < map->n_places; i++)
                if (map->places[i].value)
                        *number_map_get_place(&larger, map->places[i].key) = map->places[i];
        larger.n_used = map->n_used;
        free(map->places);
        *map = larger;
        return 0;
}

int number_map_add(NumberMap *map, uint64_t key, void *value) {
        int r = map->n_used * 2 >= map->n_places ? number_map_grow(map) : 0;

        if (r < 0)
                return r;
        *number_map_get_place(map, key) = (NumberMapPlace){ key, value };
        map->n_used++;
        return 0;
}

void *number_map_remove(NumberMap *map, uint64_t key) {
        NumberMapPlace *place = map->n_used > 0 ? number_map_get_place(map, key) : NULL;
        void *value = place ? place->value : NULL;

        if (!value)
                return NULL;
        /* The values that follow may stand here only because this place was taken. */
        place->value = NULL;
        map->n_used--;
        size_t mask = map->n_places - 1, at = (size_t)(place - map->places);

        for (at = (at + 1) & mask; map->places[at].value; at = (at + 1) & mask) {
                NumberMapPlace moved = map->places[at];

                map->places[at].value = NULL;
                *number_map_get_place(map, moved.key) = moved;
        }
        return value;
}

void **number_map_list(const NumberMap *map) {
        void **list = calloc(map->n_used + 1, sizeof(*list));
        size_t n = 0;

        for (size_t i = 0; list && i < map->n_places; i++)
                if (map->places[i].value)
                        list[n++] = map->places[i].value;
        return list;
}

void number_map_clear(NumberMap *map) {
        free(map->places);
        *map = (NumberMap){};
}

void number_map_free_all(NumberMap *map) {
        for (size_t i = 0; i < map->n_places; i++)
                free(map->places[i].value);
        number_map_clear(map);
}
