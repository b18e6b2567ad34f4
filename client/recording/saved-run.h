/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/saved-file.h"
#include "terminal/context.h"

/* Creates and starts the session and waits until it ends. Returns an exit status. */
int saved_run(Context *context, const SavedDirs *dirs, const char *name);
