/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "Did you mean …?": how far a mistyped name is from a known one (Levenshtein's distance). Called
 * where a key of a spec or a field of an event is refused; it has no tables of its own. The length
 * is bounded because strangers choose the names and the work is their product. */

#include "nearest.h"

#include <string.h>

#include "cleanup.h"

uint32_t nearest_distance(const char *a, const char *b) {
        uint32_t row[NEAREST_NAME_MAX + 1];
        size_t n_a = strnlen(a, ELEMENTSOF(row)), n_b = strnlen(b, ELEMENTSOF(row));

        if (n_a >= ELEMENTSOF(row) || n_b >= ELEMENTSOF(row))
                return UINT32_MAX;
        for (uint32_t j = 0; j <= n_b; j++)
                row[j] = j;
        for (uint32_t i = 1; i <= n_a; i++) {
                uint32_t diagonal = row[0];

                row[0] = i;
                for (size_t j = 1; j <= n_b; j++) {
                        uint32_t replace = diagonal + (a[i - 1] != b[j - 1]);

                        diagonal = row[j];
                        row[j] = MIN_OF(replace, MIN_OF(row[j], row[j - 1]) + 1);
                }
        }
        return row[n_b];
}

void nearest_consider(Nearest *nearest, const char *name) {
        uint32_t distance = nearest_distance(nearest->wanted, name);

        if (distance < nearest->least) {
                nearest->least = distance;
                nearest->name = name;
        }
}
