/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "interfaces/error.h"

/* The connection to the system bus, which may take until the bus is started. */
typedef struct BusJoin BusJoin;

typedef struct BusJoinHandlers {
        /* Connected, but without our name: install all objects and filters now. */
        int (*on_connected)(sd_bus *bus, void *userdata);
        /* We own the name; id is the id of the bus. */
        void (*on_joined)(const char *id, void *userdata);
        /* The connection of on_connected is lost. A later one calls on_connected again. */
        void (*on_lost)(void *userdata);
        /* The first connection or the name failed; there is no retry. */
        void (*on_failed)(int result, const Reason *reason, void *userdata);
} BusJoinHandlers;

/* Does not wait for the bus. If the connection is lost later, joins the bus again when it is
 * back. */
int bus_join_new(sd_event *event,
                const BusJoinHandlers *handlers,
                void *userdata,
                BusJoin **ret,
                Reason *reason);
/* Sends pending messages first. */
BusJoin *bus_join_free(BusJoin *join);
DEFINE_CLEANUP(BusJoin, bus_join_free);
bool bus_join_is_done(const BusJoin *join);
/* Handles the messages that have already arrived. */
int bus_join_process(BusJoin *join);
/* After this, a call to our name starts a new daemon. */
void bus_join_release_name(BusJoin *join);
