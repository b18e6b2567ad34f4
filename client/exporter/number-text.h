/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/text-block.h"

/* Prints number times scale. Without a scale all 64 bits are printed. */
void number_text_add(TextBlock *block, uint64_t number, double scale);
/* Prints the shortest text that strtod() reads as the same value. */
void number_text_add_double(TextBlock *block, double value);
/* Prints nanoseconds as seconds, exactly. */
void number_text_add_seconds(TextBlock *block, int64_t nsec);
/* The value that number_text_add prints. */
double number_text_get_value(uint64_t number, double scale);
