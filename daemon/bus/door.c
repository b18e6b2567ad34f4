/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts the D-Bus objects up and takes them down. Made by the manager after auth, whose filter has
 * to see each message first. Owns the slots. */
#include "door.h"

#include <errno.h>

#include "call.h"
#include "log-control.h"
#include "manager-object.h"
#include "session-object.h"

int door_new(sd_bus *bus,
                const Auth *auth,
                Registry *registry,
                const DoorHandlers *handlers,
                void *userdata,
                Door **ret) {
        _cleanup_(door_free_cleanup) Door *door = calloc(1, sizeof(*door));
        int r;

        if (!door)
                return -ENOMEM;
        door->bus = sd_bus_ref(bus);
        door->auth = auth;
        door->registry = registry;
        door->handlers = *handlers;
        door->userdata = userdata;
        TAILQ_INIT(&door->calls);
        r = manager_object_add(door, &door->slots[0]);
        if (r >= 0)
                r = session_object_add(door, &door->slots[1], &door->slots[2]);
        if (r >= 0)
                r = log_control_add(door, &door->slots[3]);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(door);
        return 0;
}

Door *door_free(Door *door) {
        if (!door)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(door->slots); i++)
                sd_bus_slot_unref(door->slots[i]);
        call_forget_door(door);
        sd_bus_unref(door->bus);
        free(door);
        return NULL;
}
