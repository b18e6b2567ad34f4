/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* One step of the path to a value: a key, or an index when key is NULL. */
typedef struct JsonStep {
        const char *key;
        size_t index;
} JsonStep;

/* Formats the place for an error: "rules[2].events: ", or "" at the top level. */
void json_path_format(const JsonStep *path, size_t depth, char *out, size_t size);
