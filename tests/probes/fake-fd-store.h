/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "base/fd-store.h"

/* What a service manager has kept, in the place of all of fd-store.c: it is there for the next
 * registry of the same process. */

/* How many of that name, -1: of any. */
int fake_fd_store_count(const char *name);
/* As if the manager had dropped it, or had had no room. */
void fake_fd_store_lose(const char *name);
/* Another one under its name. */
void fake_fd_store_swap(const char *name, int fd);
