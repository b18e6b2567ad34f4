/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "saved.h"

/* What is there, by name: of the same name the one in config_dir; less what an empty file masks. */
int saved_list(const SavedDirs *dirs, SavedEntry **ret, size_t *ret_n, Reason *reason);
void saved_list_free(SavedEntry *entries, size_t n);
/* KT_E_NO_SUCH_SESSION, also where it is masked. */
int saved_find(const SavedDirs *dirs, const char *name, char **ret_path, Reason *reason);
/* The file's session as it would be made: called `name`, with the lifetime that the file says.
 * has_lifetime: it says one. KT_E_INVALID_SPEC with file, line and column. */
int saved_load(const char *path,
                const char *name,
                Spec **ret,
                bool *ret_has_lifetime,
                Reason *reason);
