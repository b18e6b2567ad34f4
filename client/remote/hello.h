/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/json.h"

#define HELLO_PROTOCOL    4 /* the newest that this program speaks */
#define HELLO_OLDEST      1 /* the oldest */
#define HELLO_SERIES      4 /* the first one with several streams */
#define HELLO_VERSION_MAX 64
#define HELLO_COLUMNS_MAX 10000

/* What each side says first. */
typedef struct Hello {
        uint32_t protocol, oldest;       /* the newest and the oldest that it speaks */
        char version[HELLO_VERSION_MAX]; /* of its ktracectl */
        /* Of the near side. */
        bool wants_stream; /* it writes the output: the far side sends the stream */
        bool wants_series; /* it takes one stream after another */
        bool is_terminal;  /* its standard output */
        bool waits;        /* the recording arms, and starts with PACKET_START */
        bool compares;     /* the exit status waits for PACKET_LEAVE, as with `waits` */
        bool draws;        /* it shows a screen of its own: the verb sends what this shows */
        uint32_t columns;  /* of the terminal; 0: none */
} Hello;

/* A hello of this program. needed: the oldest protocol that the verb works with; 0: any. */
Hello hello_make(uint32_t needed);
/* Returns the text, or NULL without memory. */
char *hello_to_text(const Hello *hello);
/* Members that are not known are skipped: a newer side may send more. Returns 0, -errno, or
 * KT_E_INVALID_SPEC with a reason. */
int hello_parse(const char *text, size_t size, Hello *ret, Reason *reason);
/* Returns 0, or KT_E_FAILED with a reason that names the side that is too old. */
int hello_check_there(const Hello *here, const Hello *there, Reason *reason);
bool hello_is_spoken(const Hello *here, const Hello *there);
/* Whether it knows Hello.waits and its packets. */
bool hello_can_wait(const Hello *other);
