/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "top/top-frame.h"

typedef enum TopAction {
        TOP_ACTION_NOTHING,
        TOP_ACTION_DRAW,    /* the same numbers again */
        TOP_ACTION_REFRESH, /* take new numbers now */
        TOP_ACTION_QUIT,
} TopAction;

/* The keyboard's state. All zeros: no key yet. */
typedef struct TopKeys {
        TopChoice *choice;       /* borrowed */
        uint64_t *interval_usec; /* borrowed */
        bool asks_for_delay;     /* else for a filter */
        unsigned escape;         /* bytes of an escape sequence so far */
} TopKeys;

#define TOP_INTERVAL_MIN_USEC UINT64_C(100000)
#define TOP_INTERVAL_MAX_USEC UINT64_C(3600000000)

/* Takes one byte that was typed. has_scheduler: its columns are shown. */
TopAction top_keys_take(TopKeys *keys, unsigned char byte, bool has_scheduler);
/* Reads seconds, such as "0.5". Returns false if they are not from 0.1 to 3600. */
bool top_keys_parse_interval(const char *text, uint64_t *ret_usec);
