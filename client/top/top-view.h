/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "top/top-table.h"

typedef enum TopKind {
        TOP_KIND_TEXT,
        TOP_KIND_NUMBER,
        TOP_KIND_RATE,     /* shown per second */
        TOP_KIND_BYTES,    /* shown per second */
        TOP_KIND_PART,     /* of the interval: nanoseconds, shown as percent */
        TOP_KIND_DURATION, /* nanoseconds */
} TopKind;

typedef struct TopColumn {
        const char *title, *key; /* key: in JSON */
        TopKind kind;
        unsigned width;
        size_t offset; /* in the row: a uint64_t, or a text of TOP_NAME_MAX bytes */
        bool is_of_scheduler;
} TopColumn;

typedef enum TopViewId {
        TOP_VIEW_THREADS,
        TOP_VIEW_CALLS,
        TOP_VIEW_DEVICES,
        _TOP_VIEW_N,
} TopViewId;

/* A table that top can show. */
typedef struct TopView {
        const char *key, *name;
        const TopColumn *columns;
        size_t n_columns, row_size;
        size_t sort; /* the column by which it is sorted at first */
        size_t name_column;
} TopView;

const TopView *top_view_get(TopViewId id);
/* Returns the rows of the view. */
const char *top_view_get_rows(TopViewId id, const TopNumbers *numbers, size_t *ret_n);
const char *top_column_get_text(const TopColumn *column, const void *row);
uint64_t top_column_get_number(const TopColumn *column, const void *row);
/* Returns the rows whose names contain the text, sorted by a column: numbers fall, texts rise, or
 * the other way round. free() the list. NULL: memory is short. */
const void **top_view_sort(TopViewId id,
                const TopNumbers *numbers,
                size_t column,
                bool is_reverse,
                const char *text,
                size_t *ret_n);
/* Returns all numbers of an interval as an object; top-answer.c reads it. NULL: memory is short. */
json_object *top_view_to_json(const TopNumbers *numbers, uint64_t interval_nsec, const char *scope);
