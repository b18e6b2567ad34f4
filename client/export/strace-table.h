/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "analysis/call-table.h"
#include "export/call-style.h"
#include "trace/text-block.h"

/* Prints the calls of all threads as `strace -c` does. Returns 0 or -ENOMEM. */
int strace_table_print(const CallTable *table, CallSort sort, TextBlock *block);
