/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "bus/door.h"

int log_control_add(Door *door, sd_bus_slot **ret);
