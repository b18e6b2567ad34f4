/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "door/change.h"

/* Configure's a{sv}. KT_E_* with the reason, or -errno. */
int change_read(sd_bus_message *m, Change *change, Reason *reason);
