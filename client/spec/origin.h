/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/cleanup.h"
#include "interfaces/error.h"

#define ORIGIN_PATH_MAX 48

/* The words of the command line that produced one part of the spec. */
typedef struct Origin {
        char path[ORIGIN_PATH_MAX]; /* "triggers[0].keys[1]" */
        bool of_filter;             /* only for errors in the event's filter, else for all errors */
        const char *option;         /* such as "--key"; NULL: use `place` */
        const char *part;           /* the part of the text, such as "times"; NULL: all of it */
        const char *text;           /* the option's value; borrowed; NULL: several */
        int shift;                  /* characters of text before the part that was sent */
        char place[ORIGIN_PATH_MAX]; /* the place in the file; used without an option */
} Origin;

typedef struct Origins {
        Origin *items;
        size_t n;
} Origins;

void origins_done(Origins *origins);
/* origin: all but its path. The first origin of a path wins. */
int origins_add(Origins *origins, const Origin *origin, const char *path_format, ...)
                _printf_(3, 4);
/* Adds "EVENT [if FILTER]" as the key `when` of trigger i. The text may continue after the
 * filter. */
int origins_add_when(Origins *origins, size_t i, const char *option, const char *text);
/* Rewrites a reason that names a part of the spec, so that it names words of the command line.
 * Returns the text that its column refers to, counted from 0 in *ret_column, or NULL. */
const char *origins_name(const Origins *origins, Reason *reason, size_t *ret_column);
