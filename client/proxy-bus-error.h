/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "interfaces/error.h"

/* Turns what the bus said into a code and a reason: error as sd-bus gave it, or NULL and r. */
int proxy_bus_judge(const sd_bus_error *error, int r, Reason *reason);
