/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"
#include "saved-file.h"

/* Creates and starts the session and waits until it ends. Returns an exit status. */
int saved_run(Context *context, const SavedDirs *dirs, const char *name);
