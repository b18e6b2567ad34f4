/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "metrics/set.h"

#define SETTINGS_FILE   "ktrace-metrics.json"
#define SETTINGS_SUBDIR "metrics.d"

/* What the administrator has switched on. It does not change: a reload makes another one. */
typedef struct Settings {
        uint64_t interval_usec; /* the least of all sets */
        Set **sets;
        size_t n_sets;
        char *otlp_endpoint; /* NULL: no push */
        char *otlp_ca_file;  /* NULL: the system's certificates */
        uint64_t otlp_interval_usec;
} Settings;

/* Reads CONFIG_DIR/ktrace-metrics.json, and the sets that it names. Without this file no set is on.
 * Returns 0, -errno, or KT_E_* with "FILE:LINE:COLUMN: …". */
int settings_load(const char *lib_dir, const char *config_dir, Settings **ret, Reason *reason);
Settings *settings_free(Settings *settings);
DEFINE_CLEANUP(Settings, settings_free);
