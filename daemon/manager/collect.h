/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/error.h"

/* `ktraced --collect`: collects the texts of a kernel crash for the daemon. */
typedef struct CollectOptions {
        const char *const *sources; /* directories, the last one NULL */
        const char *state_dir;      /* the list of collected texts is kept there */
        const char *runtime_dir;    /* its directory "crash" is filled */
} CollectOptions;

/* Collects each file only once, by its content. *ret_n: number of new files. Returns -errno on
 * failure. */
int collect_run(const CollectOptions *options, size_t *ret_n);
