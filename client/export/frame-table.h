/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/cleanup.h"
#include "trace/text-block.h"

/* Names with numbers, from 0. */
typedef struct FrameTable FrameTable;

FrameTable *frame_table_new(void);
FrameTable *frame_table_free(FrameTable *table);
DEFINE_CLEANUP(FrameTable, frame_table_free);
/* Returns 0 or -ENOMEM. */
int frame_table_add(FrameTable *table, const char *name, size_t *ret_number);
/* Writes [{"name":"first"},{"name":"second"}]. Returns 0 or -errno. */
int frame_table_print(const FrameTable *table, TextBlock *block, FILE *out);
