/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "interfaces/json.h"
#include "interfaces/place.h"

#define INTERVAL_MIN_USEC UINT64_C(1000000)
#define INTERVAL_MAX_USEC UINT64_C(3600000000)

/* Reads a time between two readings, such as "10s". */
int interval_read(uint64_t *ret, json_object *o, const Place *place);
