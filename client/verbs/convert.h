/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"
#include "trace/selection.h"

/* Converts the selected part of an open recording, as `convert` does. name: for messages. to: the
 * format; NULL: by the suffix of out_path, which is "-" for standard output. Returns the exit
 * status. */
int convert_opened(const Context *context,
                const Selection *selection,
                int fd,
                const char *name,
                const char *to,
                const char *out_path);
