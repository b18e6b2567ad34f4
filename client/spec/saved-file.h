/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* The directories of saved sessions; the files are DIR/sessions.d/NAME.json. */
typedef struct SavedDirs {
        const char *lib_dir, *config_dir;
} SavedDirs;

typedef struct SavedEntry {
        char *name, *path;
} SavedEntry;

/* Lists the files by name. config_dir wins over lib_dir. Names that an empty file masks are left
 * out. */
int saved_list(const SavedDirs *dirs, SavedEntry **ret, size_t *ret_n, Reason *reason);
void saved_list_free(SavedEntry *entries, size_t n);
/* Returns KT_E_NO_SUCH_SESSION also when the file is masked. */
int saved_find(const SavedDirs *dirs, const char *name, char **ret_path, Reason *reason);
/* Reads the spec of the session with the name `name` and the lifetime of the file. has_lifetime:
 * the file has a lifetime. Returns KT_E_INVALID_SPEC with file, line and column. */
int saved_load(const char *path,
                const char *name,
                Spec **ret,
                bool *ret_has_lifetime,
                Reason *reason);
