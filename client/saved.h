/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "options.h"
#include "spec-file.h"

/* The directories of saved sessions; the files are DIR/sessions.d/NAME.json. */
typedef struct SavedDirs {
        const char *lib_dir, *config_dir;
} SavedDirs;

typedef struct SavedEntry {
        char *name, *path;
} SavedEntry;
