/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/context.h"
#include "top/top-options.h"

/* Runs a session and shows its numbers. Reports all errors. Returns the exit status. */
int top_run(const TopOptions *options, const Context *context);
