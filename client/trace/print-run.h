/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/print-table.h"

/* Appends the text of a record that fits its layout and that the table's guard admits. */
void print_run(const PrintTable *table, const uint8_t *data, uint32_t size, TextBlock *block);
