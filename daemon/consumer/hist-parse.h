/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/hist-layout.h"

typedef struct HistKey {
        uint64_t number; /* not for HIST_STRING and HIST_STACKTRACE; HIST_LOG2: the power */
        uint64_t last;   /* for HIST_BUCKETS */
        /* A name, a string, or a stack (one line per function). It points into the text and is not
         * terminated. NULL: the key has no text. Trailing blanks, with which the kernel pads the
         * text, are not included. */
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

/* Selects a table of a `hist` file: its line in the `trigger` file, without the state in brackets,
 * and the number of tables in the file. */
typedef struct HistChoice {
        const char *trigger;
        size_t trigger_size;
        size_t n_tables;
        const HistLayout *layout;
} HistChoice;

/* Calls on_entry for each entry, in the kernel's order. When on_entry returns a value other than 0,
 * parsing stops and returns that value. Fails with -EBADMSG when the text can be read in two ways,
 * or in no way: a string may have been made to look like the table. All entries that were reported
 * before are then invalid. Fails with -ENOENT when the table does not exist. */
int hist_parse(const char *text,
                size_t size,
                const HistChoice *choice,
                int (*on_entry)(const HistEntry *entry, void *userdata),
                void *userdata,
                HistTotals *ret);
