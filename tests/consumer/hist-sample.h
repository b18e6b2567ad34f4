/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "consumer/hist-parse.h"

/* What one sample is made of: "KEY KIND,KEY KIND;VALUE KIND" in the first line (a kind as in
 * HistKind, or comm: a string of 16 bytes), "TABLES TRIGGER" in the second, and behind them a
 * `hist` file as the kernel has written it. */
typedef struct HistSample {
        HistLayout layout;
        HistChoice choice; /* points into the data */
        const char *text;
        size_t size;
} HistSample;

/* false: it is no sample. */
bool hist_sample_read(const char *data, size_t size, HistSample *ret);
