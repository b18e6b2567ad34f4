/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/error.h"

/* `ktraced --collect`: what a crash of the machine has left, for the daemon to take. */
typedef struct CollectOptions {
        const char *const *sources; /* directories, the last one NULL */
        const char *state_dir;      /* what was collected before is remembered there */
        const char *runtime_dir;    /* a directory of it, "crash", is filled */
} CollectOptions;

/* Each file once, ever, by its content. *ret_n: how many were new. -errno. */
int collect_run(const CollectOptions *options, size_t *ret_n);
