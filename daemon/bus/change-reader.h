/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "door/change.h"

/* Reads Configure's a{sv}. Fails with KT_E_* and the reason, or -errno. */
int change_read(sd_bus_message *m, Change *change, Reason *reason);
