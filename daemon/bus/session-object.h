/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "bus/door.h"

int session_object_add(Door *door, sd_bus_slot **ret_vtable, sd_bus_slot **ret_enumerator);

/* Sent to the session's creator and to the subscribers, while they are on the bus. */
void door_send_state(Door *door, Session *session);
void door_send_notice(Door *door, Session *session, json_object *notice);
void door_send_ended(Door *door, Session *session, const char *code, const char *reason);
