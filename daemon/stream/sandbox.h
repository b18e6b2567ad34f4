/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Changes to the user (NULL: is another than root already), gives up everything that the loop does
 * not need. -errno with one line in text. After this no file can be opened and no program run. */
int sandbox_enter(const char *user, char *text, size_t size);
