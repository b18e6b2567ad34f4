/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "policy/limit.h"

/* Where things are, by option, and what users may have at most, by file. Strings are borrowed from
 * argv or constant. */
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
/* Reads CONFIG_DIR/ktraced.json, or LIB_DIR/ktraced.json when there is none, into limits. Neither
 * is needed. KT_E_* with file and place; then limits are as they were. */
int configuration_load(Configuration *configuration, Reason *reason);
