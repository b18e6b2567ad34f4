/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "metrics/set.h"

/* The text of a set. */
typedef struct SetText {
        const char *source; /* the file, for messages */
        const char *name;   /* of the set */
        const char *text;
        size_t size;
        Set *const *others; /* other sets that are on: a metric belongs to one of them */
        size_t n_others;
} SetText;

/* Returns 0, -ENOMEM, or KT_E_INVALID_SPEC or KT_E_UNKNOWN_KEY with "FILE:LINE:COLUMN: …". */
int set_read(const SetText *text, Set **ret, Reason *reason);
/* Whether a set may have this name: its session is named after it. */
bool set_name_is_valid(const char *name);
