/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording/hist-spec.h"
#include "terminal/context.h"

/* Creates the session of `hist` and runs the command in it (NULL: none). Waits for the end of the
 * command or ^C, reads the histogram and removes the session and the probe. Calls print with the
 * answer of GetHistogram. Returns the exit status. */
int hist_run(const Context *context,
                HistSpec *hist,
                char **command,
                int (*print)(json_object *rows, void *userdata),
                void *userdata);
