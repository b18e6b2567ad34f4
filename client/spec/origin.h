/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/cleanup.h"
#include "interfaces/error.h"

#define ORIGIN_PLACE_MAX 48

typedef enum OriginKind {
        ORIGIN_PATH,  /* part of the spec: "triggers[0].keys[1]", or a key such as "scope" */
        ORIGIN_VALUE, /* a value such as a name, if the error begins with it and has no other path
                       */
        ORIGIN_PREFIX /* as ORIGIN_VALUE, and the value stays after the option: "process 7" */
} OriginKind;

/* The words of the command line that produced one part of the spec. */
typedef struct Origin {
        char *path; /* set by origins_add */
        OriginKind kind;
        bool of_filter;       /* only for errors in the event's filter, else for all errors */
        const char *of_event; /* only for errors about events that this glob matches; or NULL */
        const char *option;   /* such as "--key"; NULL: use `place` */
        const char *part;     /* the part of the text, such as "times"; NULL: all of it */
        const char *text;     /* the option's value; borrowed; NULL: several */
        const char *sent;     /* the value that was made of text; borrowed; NULL: text itself */
        int shift;            /* characters of text before the part that was sent */
        char place[ORIGIN_PLACE_MAX]; /* the place in the file; used without an option */
} Origin;

typedef struct Origins {
        Origin *items;
        size_t n;
} Origins;

void origins_done(Origins *origins);
/* origin: all but its path. The first origin of a path wins. Except for the error "EVENT: filter",
 * if several filters apply to the event: then only their option is named. */
int origins_add(Origins *origins, const Origin *origin, const char *path_format, ...)
                _printf_(3, 4);
/* Adds "EVENT [if FILTER]" as the key `when` of trigger i. The text may continue after the
 * filter. */
int origins_add_when(Origins *origins, size_t i, const char *option, const char *text);
/* Rewrites a reason that names a part of the spec, so that it names words of the command line.
 * Returns the text that its column refers to, counted from 0 in *ret_column, or NULL. */
const char *origins_name(const Origins *origins, Reason *reason, size_t *ret_column);
