/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* True when `pattern` has a character that glob_match treats specially (* ? [). */
bool glob_is_pattern(const char *pattern);
/* Shell-style match of a whole string, without backtracking blow-up: linear in practice,
 * O(pattern * text) at worst. */
bool glob_match(const char *pattern, const char *text);
/* `pattern` "system:event", or "event" for any system, against one event. */
bool glob_match_event(const char *pattern, const char *system, const char *event);
