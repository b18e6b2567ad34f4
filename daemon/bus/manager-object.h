/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "bus/door.h"

int manager_object_add(Door *door, sd_bus_slot **ret);

/* Sends Notified to this peer, which has called Watch. */
void door_send_watcher(Door *door, const char *peer, json_object *notice);
