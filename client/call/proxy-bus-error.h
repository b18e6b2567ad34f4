/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "interfaces/error.h"

/* Turns an error of the bus into a code and a reason. error: from sd-bus; when it is NULL, r
 * counts. */
int proxy_bus_judge(const sd_bus_error *error, int r, Reason *reason);
