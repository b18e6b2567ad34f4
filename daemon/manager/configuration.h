/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "policy/limit.h"

/* Paths, set by options, and limits of users, set by the file. Strings are borrowed from argv or
 * constant. */
typedef struct Configuration {
        const char *config_dir;
        const char *lib_dir;
        const char *state_dir;
        const char *runtime_dir;
        const char *tracefs;
        const char *consumer;
        const char *consumer_user;
        Limits limits;
} Configuration;

void configuration_init(Configuration *configuration);
/* Reads CONFIG_DIR/ktraced.json, or else LIB_DIR/ktraced.json, into limits. Both files are
 * optional. Fails with KT_E_* and a reason with file and position; limits are then unchanged. */
int configuration_load(Configuration *configuration, Reason *reason);
