/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "Did you mean ...?": the distance between a mistyped name and a known one (Levenshtein), and
 * the nearest names. Called when a name is refused. It has no tables of its own. Untrusted
 * callers choose the names, and one refusal compares a name with thousands. So the length is
 * limited, and a comparison stops once the distance is too large. */

#include "interfaces/nearest.h"

#include <stdio.h>
#include <string.h>

#include "interfaces/cleanup.h"

uint32_t nearest_distance(const char *a, const char *b, uint32_t below) {
        uint32_t row[NEAREST_NAME_MAX + 1];
        size_t n_a = strnlen(a, ELEMENTSOF(row)), n_b = strnlen(b, ELEMENTSOF(row));

        if (n_a >= ELEMENTSOF(row) || n_b >= ELEMENTSOF(row) ||
                        MAX_OF(n_a, n_b) - MIN_OF(n_a, n_b) >= below)
                return UINT32_MAX;
        below = MIN_OF(below, NEAREST_NAME_MAX + 1);
        for (uint32_t j = 0; j <= n_b; j++)
                row[j] = j;
        for (uint32_t i = 1; i <= n_a; i++) {
                /* A cell is at least as large as its distance from the diagonal. */
                size_t first = i > below ? i - below + 1 : 1, last = MIN_OF(n_b, i + below - 1);
                uint32_t diagonal = row[first - 1], least = i;

                row[first - 1] = i;
                for (size_t j = first; j <= last; j++) {
                        uint32_t replace = diagonal + (a[i - 1] != b[j - 1]);

                        diagonal = row[j];
                        row[j] = MIN_OF(replace, MIN_OF(row[j], row[j - 1]) + 1);
                        least = MIN_OF(least, row[j]);
                }
                if (least >= below) /* the minimum of a row never decreases */
                        return UINT32_MAX;
        }
        return row[n_b] < below ? row[n_b] : UINT32_MAX;
}

void nearest_consider(Nearest *nearest, const char *name) {
        uint32_t distance = nearest_distance(nearest->wanted, name, nearest->least);

        if (distance < nearest->least) {
                nearest->least = distance;
                nearest->name = name;
        }
}

void nearest_names_add(NearestNames *list, const char *name, uint32_t rank) {
        size_t i;

        for (i = 0; i < list->n; i++)
                if (strcmp(list->names[i], name) == 0)
                        return;
        for (i = list->n; i > 0 && list->ranks[i - 1] > rank; i--)
                if (i < NEAREST_NAMES_MAX) {
                        list->names[i] = list->names[i - 1];
                        list->ranks[i] = list->ranks[i - 1];
                }
        if (i == NEAREST_NAMES_MAX)
                return;
        list->names[i] = name;
        list->ranks[i] = rank;
        list->n += list->n < NEAREST_NAMES_MAX;
}

void nearest_names_join(const NearestNames *list, char *text, size_t size) {
        text[0] = '\0';
        for (size_t i = 0; i < list->n; i++) {
                size_t used = strlen(text);

                (void)snprintf(text + used,
                                size - used,
                                "%s%s",
                                i == 0            ? ""
                                : i + 1 < list->n ? ", "
                                                  : " or ",
                                list->names[i]);
        }
}
