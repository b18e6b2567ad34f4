/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/error.h"

typedef struct Context Context;

/* Prints `ktracectl: TEXT` on stderr, one line, control characters as '?'. */
void message_print(const char *format, ...) _printf_(1, 2);
/* Prints the reason, or if it is empty the text of the code or of errno. Returns the exit status.
 */
int message_fail(int code, const Reason *reason);
/* Prints the text that the last message is about, and a caret below the character at `column`. */
void message_show_place(const char *text, size_t column);
/* Makes `text` harmless for a terminal in place: control characters become '?'. */
void message_clean(char *text);
/* Called before the next message is printed: it clears a line that is rewritten in place. */
void message_set_before(void (*before)(void *userdata), void *userdata);

/* Prints the message and "see 'ktracectl VERB --help'". Returns KT_EXIT_USAGE. */
int message_show_usage(const Context *context, const char *format, ...) _printf_(2, 3);
