/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

/* A *.json file of LIB_DIR/SUBDIR, or the one with the same name in CONFIG_DIR/SUBDIR. */
typedef struct OverrideFile {
        char *name;
        char *source; /* the full path, for messages */
        int dirfd;    /* borrowed */
} OverrideFile;

/* Calls visit for each file, sorted by name, until it returns a value other than 0. Missing
 * directories count as empty; KT_E_INVALID_SPEC: a user other than root may write to a
 * directory. */
int override_visit(const char *lib_dir,
                const char *config_dir,
                const char *subdir,
                int (*visit)(const OverrideFile *file, void *userdata, Reason *reason),
                void *userdata,
                Reason *reason);
/* Reads the text of a file; the size is 0 for a file that only masks another. KT_E_INVALID_SPEC: a
 * user other than root may write to it. */
int override_read(const OverrideFile *file, char **ret, size_t *ret_size, Reason *reason);
