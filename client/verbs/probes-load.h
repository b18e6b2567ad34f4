/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "verbs/verb.h"

/* Returns the exit status. */
int probes_load_run(const Context *context, const char *path);
