/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "top/top-table.h"

#define TOP_SCOPE_MAX 256

/* What `top --json` prints at each refresh. */
typedef struct TopAnswer {
        TopNumbers numbers;
        uint64_t interval_nsec;
        char scope[TOP_SCOPE_MAX]; /* without control characters */
} TopAnswer;

/* Reads one object; the text may be hostile. Members that are not known are skipped: a newer side
 * may send more. Returns 0, -errno, or KT_E_INVALID_SPEC with a reason that names the member. */
int top_answer_read(const char *text, size_t size, TopAnswer *ret, Reason *reason);
