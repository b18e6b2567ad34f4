/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The place of a value in a JSON object, for errors. Used by the loaders: of JSON texts
 * (json-cursor.c), and of D-Bus arguments (daemon/bus/arguments.c). */

#include "interfaces/json-path.h"

#include <stdio.h>
#include <string.h>

#include "interfaces/cleanup.h"

void json_path_format(const JsonStep *path, size_t depth, char *out, size_t size) {
        size_t used = 0;

        out[0] = '\0';
        for (size_t i = 0; i < depth && used < size - 1; i++) {
                const JsonStep *step = &path[i];
                int n;

                if (step->key)
                        n = snprintf(out + used, size - used, "%s%.64s", i ? "." : "", step->key);
                else
                        n = snprintf(out + used, size - used, "[%zu]", step->index);
                used += (size_t)MAX_OF(n, 0);
        }
        if (used > 0 && used < size - 2)
                memcpy(out + used, ": ", 3);
}
