/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/inspect/inspect.h"

/* Finds all places of a marker, "PROVIDER:NAME". Fails with KT_E_FAILED and the reason. */
int inspect_marker(InspectFile *file,
                const char *name,
                UserPlace places[USER_PLACES_MAX],
                size_t *ret_n,
                Reason *reason);
