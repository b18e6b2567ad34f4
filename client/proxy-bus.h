/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy-backend.h"

int proxy_bus_open(Proxy **ret, Reason *reason);
/* *ret stays NULL where no daemon runs. */
int proxy_bus_open_running(Proxy **ret, Reason *reason);
/* A process listens at the system bus's address. */
bool proxy_bus_is_there(void);
