/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "options.h"

/* What 'ktracectl probes' does with programs and libraries, whose files it reads itself. The first
 * two return the exit status. */
int probes_user_list(const Context *context, const char *file);
int probes_user_resolve(const Context *context, const char *place);
/* The place as AddProbe wants it, and the program itself, opened with the user's own rights. */
int probes_user_place(const char *text, char **ret_on, int *ret_file, Reason *reason);
