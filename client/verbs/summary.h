/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"
#include "trace/selection.h"

/* Prints the numbers of the selected part of an open recording, as `summary` does. name: for the
 * head and for messages. Returns the exit status. */
int summary_print_opened(const Context *context,
                const Selection *selection,
                int fd,
                const char *name);
