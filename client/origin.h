/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/cleanup.h"
#include "interfaces/error.h"

#define ORIGIN_PATH_MAX 48

/* Words of the command line of which something that is sent to the daemon was made. */
typedef struct Origin {
        char path[ORIGIN_PATH_MAX]; /* "triggers[0].keys[1]" */
        bool of_filter;             /* of what is said of the event's filter there, else of all */
        const char *option;         /* "--key"; NULL: `place` */
        const char *part; /* "times": what of the text is meant; NULL: nothing of its own */
        const char *text; /* what the option was given; borrowed; NULL: several */
        int shift;        /* characters of it before the text of whose columns the daemon speaks */
        char place[ORIGIN_PATH_MAX]; /* of a file that was given, where this stands in it */
} Origin;

typedef struct Origins {
        Origin *items;
        size_t n;
} Origins;

void origins_done(Origins *origins);
/* origin without its path. The first that was added for a path counts. */
int origins_add(Origins *origins, const Origin *origin, const char *path_format, ...)
                _printf_(3, 4);
/* One "EVENT [if FILTER]" as the key `when` of trigger i; text goes on behind the filter or not. */
int origins_add_when(Origins *origins, size_t i, const char *option, const char *text);
/* A reason that speaks of a place in what was sent speaks of the words of the command line then.
 * Returns the text in which it names a column, counted from 0 in *ret_column; NULL: none. */
const char *origins_name(const Origins *origins, Reason *reason, size_t *ret_column);
