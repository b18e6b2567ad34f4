/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Changes to the user (NULL: is another than root already), gives up all rights, and takes limits.
 * -errno with one line in text. */
int sandbox_enter(const char *user, char *text, size_t size);
/* After this no file can be opened and no program run. */
int sandbox_close(void);
