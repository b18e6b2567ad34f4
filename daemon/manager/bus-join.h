/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "interfaces/error.h"

/* The way onto the system bus, which may take until somebody starts one. */
typedef struct BusJoin BusJoin;

typedef struct BusJoinHandlers {
        /* We are on the bus and nobody knows our name: all that answers is put up now. */
        int (*on_connected)(sd_bus *bus, void *userdata);
        /* The name is ours; id is the bus's. */
        void (*on_joined)(const char *id, void *userdata);
        /* It cannot be had; there is no second try. */
        void (*on_failed)(int result, const Reason *reason, void *userdata);
} BusJoinHandlers;

/* Returns before there is any bus. When it is lost later the loop ends with a positive code. */
int bus_join_new(sd_event *event,
                const BusJoinHandlers *handlers,
                void *userdata,
                BusJoin **ret,
                Reason *reason);
/* What is still to be sent is sent first. */
BusJoin *bus_join_free(BusJoin *join);
DEFINE_CLEANUP(BusJoin, bus_join_free);
bool bus_join_is_done(const BusJoin *join);
/* Handles what has come already. */
int bus_join_process(BusJoin *join);
/* Calls from here on start us anew. */
void bus_join_release_name(BusJoin *join);
