/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/hist-layout.h"

typedef struct HistKey {
        uint64_t number; /* but of HIST_STRING and HIST_STACKTRACE; HIST_LOG2: the power */
        uint64_t last;   /* of HIST_BUCKETS */
        /* A name, a string, a stack (a line a function); in the text, not terminated. NULL: none.
         * What the kernel has filled up with blanks ends before them. */
        const char *text;
        size_t size;
} HistKey;

typedef struct HistEntry {
        HistKey keys[HIST_KEYS_MAX];
        uint64_t hitcount;
        uint64_t values[HIST_VALUES_MAX];
} HistEntry;

typedef struct HistTotals {
        uint64_t hits, entries, dropped;
        bool is_paused;
} HistTotals;

/* Which of the tables in a `hist` file: its line of the `trigger` file, without the state in
 * brackets, and how many tables the file has. */
typedef struct HistChoice {
        const char *trigger;
        size_t trigger_size;
        size_t n_tables;
        const HistLayout *layout;
} HistChoice;

/* on_entry is called for each entry in the kernel's order; what it returns other than 0 ends it.
 * -EBADMSG: the text can be read in two ways or in none, and nothing of what was told before holds:
 * a string's bytes may have been meant to look like the table. -ENOENT: no such table. */
int hist_parse(const char *text,
                size_t size,
                const HistChoice *choice,
                int (*on_entry)(const HistEntry *entry, void *userdata),
                void *userdata,
                HistTotals *ret);
