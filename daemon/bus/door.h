/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* The D-Bus face of the daemon: the objects that it shows and the signals that it sends. */
typedef struct Door Door;

/* Puts the objects on the bus. All are borrowed and must outlive the door. */
int door_new(sd_bus *bus, Desk *desk, Door **ret);
Door *door_free(Door *door);
DEFINE_CLEANUP(Door, door_free);
