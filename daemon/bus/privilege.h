/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call.h"

/* Manager.Reload and Manager.Administrate for the caller of m: root, and those whom polkit allows.
 * 0: `request` is taken over and answered in time. Else it stays the caller's, and this is the
 * answer. */
int privilege_reload(Door *door, sd_bus_message *m, Request *request, Reason *reason);
int privilege_administrate(Door *door, sd_bus_message *m, Request *request, Reason *reason);
