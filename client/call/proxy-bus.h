/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "call/proxy-backend.h"

int proxy_bus_open(Proxy **ret, Reason *reason);
/* Uses the caller's connection. */
int proxy_bus_borrow(sd_bus *bus, Proxy **ret, Reason *reason);
/* Sets *ret to NULL when no daemon runs. */
int proxy_bus_open_running(Proxy **ret, Reason *reason);
/* Whether a process listens at the address of the system bus. */
bool proxy_bus_is_there(void);
