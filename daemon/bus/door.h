/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* The D-Bus interface of the daemon: its objects and signals. */
typedef struct Door Door;

/* Adds the objects to the bus. All pointers are borrowed and must outlive the door. */
int door_new(sd_bus *bus, Desk *desk, Door **ret);
Door *door_free(Door *door);
DEFINE_CLEANUP(Door, door_free);
