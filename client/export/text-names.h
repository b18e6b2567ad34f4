/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "trace/decode.h"
#include "trace/text-block.h"

/* Appends a record of a system call with names: "openat(dfd=AT_FDCWD, ...)". The record must fit.
 * Returns false for all other records. */
bool text_names_print(const Decode *decode,
                const EventLayout *layout,
                const Record *record,
                TextBlock *block);

/* The entry of a call. */
typedef struct TextNamesEntry {
        const char *name; /* NULL: as the event has it */
        const char *path; /* the text to which its argument `filename` points; NULL: unknown */
        const EventLayout *layout;
        const Record *record; /* must fit */
} TextNamesEntry;

/* Appends a call with its arguments. */
void text_names_add_entry(const Decode *decode, const TextNamesEntry *entry, TextBlock *block);
/* Appends " = 3". call: as the event has it; NULL: unknown. */
void text_names_add_result(const char *call, int64_t result, TextBlock *block);
/* Appends a number whose name is not proven: "NR 257 [openat if 64-bit]". */
void text_names_add_number(const Decode *decode, int64_t number, TextBlock *block);
/* Appends what a number in the record's own text means: " [sig SIGCHLD]". Appends nothing to most
 * records. The record must fit. */
void text_names_explain(const EventLayout *layout, const Record *record, TextBlock *block);
