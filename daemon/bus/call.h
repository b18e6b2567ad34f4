/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bus/door.h"
#include "bus/vtable.h"
#include "door/desk.h"

struct Door {
        sd_bus *bus;
        Desk *desk;
        Vtable *manager, *session; /* of the slots */
        sd_bus_slot *slots[5];
        sd_event_source *after_turn, *turn;
};

/* Returns the sender; NULL: not known, must be refused. */
static inline const Peer *call_get_peer(const Door *door, sd_bus_message *m) {
        return auth_get_peer(door->desk->auth, m);
}

/* The handler of every method of the table; userdata is the door. */
int call_on_method(sd_bus_message *m, void *userdata, sd_bus_error *ret_error);
