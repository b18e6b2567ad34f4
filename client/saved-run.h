/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "saved.h"

/* Makes and starts the session, and stays as long as it does. Returns an exit status. */
int saved_run(Context *context, const SavedDirs *dirs, const char *name);
