/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "interfaces/json.h"

typedef struct HistTableOptions {
        bool has_bars;
        bool is_utf8; /* bars consist of blocks, else of '#' */
        bool legend;
        unsigned width;     /* columns of the terminal */
        const char *unit;   /* of ranges, such as "us"; NULL: guess it from the field's name */
        const char *weight; /* groups are ordered by the sum of this value; NULL: by hits */
        bool hides_weight;  /* print no column for it */
} HistTableOptions;

/* Prints an answer of GetHistogram. Returns -EBADMSG when it has another form. */
int hist_table_print(FILE *file, json_object *rows, const HistTableOptions *options);
/* Turns the same answer into one object: the head with "rows". */
int hist_table_to_json(json_object *rows, json_object **ret);
