/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/error.h"

/* Says `ktracectl: TEXT` on stderr, one line, control characters as '?'. */
void tell(const char *format, ...) _printf_(1, 2);
/* Tells reason (or, when it is empty, the code's own text or errno) and returns the exit status. */
int tell_failure(int code, const Reason *reason);
/* Under what was just told: the text it was about, and a caret below the character at `column`. */
void tell_place(const char *text, size_t column);
/* Makes `text` harmless for a terminal in place: control characters become '?'. */
void tell_clean(char *text);
/* Written over by the next tell(): a line that must go before another is printed. */
void tell_set_before(void (*before)(void *userdata), void *userdata);
