/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "analysis/call-pair.h"
#include "export/call-style.h"
#include "trace/text-block.h"

/* Counts of calls by name. */
typedef struct CallTable CallTable;

CallTable *call_table_new(void);
CallTable *call_table_free(CallTable *table);
void call_table_add(CallTable *table, const Call *call);
/* Returns 0 or -ENOMEM. */
int call_table_print(const CallTable *table, const Decode *decode, CallSort sort, TextBlock *block);
