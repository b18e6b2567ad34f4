/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/options.h"

/* Prints the notifications of a session until it ends or ^C. Returns the exit status. */
int notify_run(const Context *context, const char *session);
