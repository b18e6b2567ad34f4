/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "interfaces/json.h"

typedef struct HistTableOptions {
        bool has_bars;
        bool is_utf8; /* bars of blocks, else of '#' */
        bool legend;
        unsigned width;     /* columns of the terminal */
        const char *unit;   /* of ranges: "us"; NULL: what the field's name says */
        const char *weight; /* the value by whose sum groups are ordered; NULL: hits */
        bool hides_weight;  /* it is no column */
} HistTableOptions;

/* Prints what GetHistogram has answered. -EBADMSG: it is no such answer. */
int hist_table_print(FILE *file, json_object *rows, const HistTableOptions *options);
/* The same answer as one object: the head with "rows". */
int hist_table_to_json(json_object *rows, json_object **ret);
