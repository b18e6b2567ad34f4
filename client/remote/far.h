/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"

/* Serves one command line of the near side of -H on standard input and output. Returns the exit
 * status. */
int far_run(Context *context);
