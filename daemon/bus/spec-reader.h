/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "spec.h"

/* Reads an a{sv} into a complete spec. KT_E_* with the reason, or -errno. */
int spec_read_message(sd_bus_message *m, Spec **ret, Reason *reason);
