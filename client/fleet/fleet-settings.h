/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/place.h"

typedef struct FleetSettings {
        PlaceStrings servers;  /* at least one */
        char *user;            /* of the password; NULL: none */
        char *credentials_dir; /* as nats-link.h; NULL: none */
} FleetSettings;

/* Reads the file, which must belong to root and must not be readable by others. Returns 0, -errno,
 * or KT_E_* with "FILE:LINE:COLUMN: …". */
int fleet_settings_load(const char *path, FleetSettings **ret, Reason *reason);
FleetSettings *fleet_settings_free(FleetSettings *settings);
DEFINE_CLEANUP(FleetSettings, fleet_settings_free);
