/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "define/definition.h"

/* Reads AddProbe's a{sv} into a complete definition. Fails with KT_E_* and the reason, or
 * -errno. */
int definition_read_message(sd_bus_message *m, Definition **ret, Reason *reason);
