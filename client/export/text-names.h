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
/* Appends what a number in the record's own text means: " [sig SIGCHLD]". Appends nothing to most
 * records. The record must fit. */
void text_names_explain(const EventLayout *layout, const Record *record, TextBlock *block);
