/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "options.h"

/* What 'ktracectl probes' does with programs and libraries, whose files it reads itself. Both
 * return the exit status. */
int probes_user_list(const Context *context, const char *file);
int probes_user_resolve(const Context *context, const char *place);
