/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/place.h"

#define SHIP_SETTINGS_FILE "ktrace-ship.json"

typedef struct ShipSettings {
        PlaceStrings servers;   /* at least one */
        char *machine_id;       /* 32 digits */
        uint64_t bytes_per_sec; /* 0: no limit */
        uint64_t interval_usec; /* between two looks for new files */
        uint64_t timeout_usec;  /* of a broker that does not answer */
} ShipSettings;

/* Reads CONFIG_DIR/ktrace-ship.json. Returns 0, -errno, or KT_E_* with "FILE:LINE:COLUMN: …". */
int ship_settings_load(const char *config_dir, ShipSettings **ret, Reason *reason);
ShipSettings *ship_settings_free(ShipSettings *settings);
DEFINE_CLEANUP(ShipSettings, ship_settings_free);
