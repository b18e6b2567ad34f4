/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"

/* Runs the command line on each machine of -H and prints what they print, in the order of the
 * machines. Reports all errors. reads_input: the verb reads standard input, which is refused.
 * Returns the exit status. */
int hosts_run(const Context *context, bool reads_input);
