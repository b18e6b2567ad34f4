/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "metrics/totals.h"

/* What an answer says about the whole table. */
typedef struct Reading {
        uint64_t entries, dropped, lost;
        bool is_of_consumer; /* the stream worker counts, because the kernel cannot */
} Reading;

/* Adds the rows of an answer of GetHistogram to a reading that totals_begin() began. Returns 0,
 * -ENOMEM, or KT_E_FAILED with what is wrong in the answer. */
int reading_take(const char *answer,
                const SetMetric *metric,
                Totals *totals,
                Reading *ret,
                Reason *reason);
/* Finds a number of GetStatus' answer: "sessions", or "totals.denied". */
int reading_find_status(const char *answer, const char *key, uint64_t *ret, Reason *reason);
