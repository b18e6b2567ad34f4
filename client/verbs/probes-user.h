/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "terminal/options.h"

/* The commands of 'ktracectl probes' for programs and libraries. The client reads those files
 * itself. The first two functions return the exit status. */
int probes_user_list(const Context *context, const char *file);
int probes_user_resolve(const Context *context, const char *place);
/* Gets the place in the form that AddProbe expects, and the program, opened with the user's own
 * rights. */
int probes_user_place(const char *text, char **ret_on, int *ret_file, Reason *reason);
