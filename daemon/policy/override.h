/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

/* A *.json file of LIB_DIR/SUBDIR, or the one of its name in CONFIG_DIR/SUBDIR. */
typedef struct OverrideFile {
        char *name;
        char *source; /* the whole path, for messages */
        int dirfd;    /* borrowed */
} OverrideFile;

/* Calls visit for each file, sorted by name, until it returns other than 0. Missing directories are
 * empty; one that others than root may write is KT_E_INVALID_SPEC. */
int override_visit(const char *lib_dir,
                const char *config_dir,
                const char *subdir,
                int (*visit)(const OverrideFile *file, void *userdata, Reason *reason),
                void *userdata,
                Reason *reason);
/* Its text; of size 0 for one that only masks another. KT_E_INVALID_SPEC when it is not root's. */
int override_read(const OverrideFile *file, char **ret, size_t *ret_size, Reason *reason);
