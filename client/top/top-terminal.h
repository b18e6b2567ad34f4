/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

/* The terminal while top draws on it. */
typedef struct TopTerminal {
        bool is_entered;
        struct termios before; /* of standard input */
} TopTerminal;

/* Whether standard input and output are a terminal that understands escape sequences. */
bool top_terminal_is_usable(void);
/* Switches to the other screen and to single keys. Returns 0 or -errno. */
int top_terminal_enter(TopTerminal *terminal);
void top_terminal_leave(TopTerminal *terminal);
void top_terminal_get_size(unsigned *ret_width, unsigned *ret_height);
/* Whether the terminal accepts output now. */
bool top_terminal_is_writable(void);
/* Writes everything to standard output. Returns 0 or -errno. */
int top_terminal_write(const char *data, size_t size);
