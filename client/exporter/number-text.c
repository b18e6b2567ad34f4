/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints numbers of metrics as text. Called by all outputs. The locale must be "C", which a program
 * has that never calls setlocale().
 *
 * Scales are mostly powers of ten below one, such as 1e-6, which no double has exactly. Their
 * inverse is exact, so a division gives the double that is nearest to the true value, and 3
 * microseconds are "3e-06" rather than "2.9999999999999997e-06". */

#include "exporter/number-text.h"

#include <math.h>
#include <stdlib.h>

#define NSEC_PER_SEC 1000000000

double number_text_get_value(uint64_t number, double scale) {
        double inverse = round(1 / scale);

        if (scale < 1 && fabs(inverse * scale - 1) < 1e-12)
                return (double)number / inverse;
        return (double)number * scale;
}

void number_text_add(TextBlock *block, uint64_t number, double scale) {
        if (scale == 1)
                text_block_add_decimal(block, number);
        else
                number_text_add_double(block, number_text_get_value(number, scale));
}

void number_text_add_double(TextBlock *block, double value) {
        char text[32];
        int n = 0;

        /* 17 digits are always enough. */
        for (int digits = 15; digits <= 17; digits++) {
                n = snprintf(text, sizeof(text), "%.*g", digits, value);
                if (strtod(text, NULL) == value)
                        break;
        }
        text_block_add(block, text, (size_t)n);
}

void number_text_add_seconds(TextBlock *block, int64_t nsec) {
        text_block_add_signed(block, nsec / NSEC_PER_SEC);
        if (nsec % NSEC_PER_SEC == 0)
                return;
        text_block_add_char(block, '.');
        text_block_add_digits(block, (uint64_t)(nsec % NSEC_PER_SEC), 9);
}
