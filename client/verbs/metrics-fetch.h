/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/error.h"

#define METRICS_SOCKET  "/run/ktrace-metrics/metrics"
#define METRICS_ADDRESS "127.0.0.1:9466"

/* Asks ktrace-metrics at this address (see interfaces/socket-address.h) for its metrics of this
 * media type. The text has a NUL at its end, is UTF-8, and has no control characters but newlines.
 * Returns 0, -errno if the connection fails, or KT_E_* with a reason. */
int metrics_fetch(const char *address,
                const char *type,
                char **ret,
                size_t *ret_size,
                Reason *reason);
