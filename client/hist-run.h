/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hist-wish.h"
#include "options.h"

/* Makes a session of the wish, runs the command (NULL: none) in it, waits for its end or ^C, reads
 * the histogram and takes everything away again. print gets what GetHistogram has answered.
 * Returns the exit status. */
int hist_run(const Context *context,
                HistWish *wish,
                char **command,
                int (*print)(json_object *rows, void *userdata),
                void *userdata);
