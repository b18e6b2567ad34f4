/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "names/call-filter.h"

typedef enum CallTime {
        CALL_TIME_NONE,
        CALL_TIME_SECONDS, /* time of day */
        CALL_TIME_USEC,
        CALL_TIME_EPOCH, /* seconds since 1970 */
} CallTime;

typedef enum CallSort {
        CALL_SORT_TIME,
        CALL_SORT_CALLS,
        CALL_SORT_ERRORS,
        CALL_SORT_NAME,
        CALL_SORT_NOTHING,
        _CALL_SORT_N,
} CallSort;

/* The first thread that makes a call. */
#define CALL_STARTER_FIRST -1

/* How EXPORT_CALLS prints system calls. */
typedef struct CallStyle {
        bool has_list;      /* a line for each call */
        bool has_table;     /* counts at the end */
        bool has_durations; /* in the list */
        bool has_commands;  /* names of tasks in the list */
        CallTime time;
        CallSort sort;
        const CallFilter *filter; /* NULL: all calls. Borrowed */
        /* Thread that runs the command: its calls before execve() are left out. 0: none. */
        int starter;
} CallStyle;
