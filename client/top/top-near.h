/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"
#include "top/top-options.h"

/* Shows the numbers of the host of -H on this terminal. Reports all errors. Returns the exit
 * status. */
int top_near_run(const TopOptions *options, const Context *context);
