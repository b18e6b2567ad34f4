/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "bus/door.h"

int session_object_add(Door *door, sd_bus_slot **ret_vtable, sd_bus_slot **ret_enumerator);
