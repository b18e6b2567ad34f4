/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Compares a text of that size, without NUL, with a glob of an event filter, as the kernel does. */
bool condition_glob_match(const char *glob, const char *text, size_t size);
