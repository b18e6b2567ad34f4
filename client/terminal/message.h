/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/error.h"

typedef struct Context Context;

/* Prints `ktracectl: TEXT` on stderr as one line. Control characters become '?'. */
void message_print(const char *format, ...) _printf_(1, 2);
/* Prints the reason or, if it is empty, the text of the code or errno. Returns the exit status. */
int message_fail(int code, const Reason *reason);
/* Sets what message_fail adds when a password is required. Borrowed. */
void message_set_no_password(const char *text);
/* Prints the text that the last message refers to, with a caret under the character at `column`. */
void message_show_place(const char *text, size_t column);
/* Replaces control characters of `text` by '?', so that a terminal can show it. */
void message_clean(char *text);
/* The same for a part of a text of lines: newline and tab stay. A character that goes on in the
 * next part may become '?', too: another text may come first on the terminal. *is_open is the state
 * between two parts, at first false. */
void message_clean_lines(char *text, size_t size, bool *is_open);
/* Sets a function that is called before each message. It clears a line that is rewritten in
 * place. */
void message_set_before(void (*before)(void *userdata), void *userdata);

/* Prints the message and "see 'ktracectl VERB --help'". Returns KT_EXIT_USAGE. */
int message_show_usage(const Context *context, const char *format, ...) _printf_(2, 3);
