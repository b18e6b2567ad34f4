/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"
#include "trace/selection.h"

/* Prints the selected part of an open recording, as `report` does. name: for messages. Returns the
 * exit status. */
int report_opened(const Context *context, const Selection *selection, int fd, const char *name);
