/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define QUOTE_MAX 64 /* bytes of the value; longer values end in "..." */

typedef struct Quoted {
        char text[QUOTE_MAX + 8];
} Quoted;

/* A caller's value for messages: in double quotes, cut at a character boundary. reason_set()
 * makes it printable. */
Quoted quote(const char *value);
