/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "define/definition.h"

/* AddProbe's a{sv}: a complete definition, or KT_E_* with the reason, or -errno. */
int definition_read_message(sd_bus_message *m, Definition **ret, Reason *reason);
