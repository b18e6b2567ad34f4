/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#define HELP_WIDTH 79 /* columns: fits on a terminal of 80 */

/* Prints a help text and wraps lines that are too wide. */
void help_print(FILE *out, const char *text);
