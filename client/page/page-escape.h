/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

/* Writes a text so that no character of it has a meaning in HTML, also in a quoted attribute.
 * Control characters are left out. */
void page_escape(FILE *out, const char *text);
