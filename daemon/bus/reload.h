/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call.h"

/* Manager.Reload for the caller of m: root, and those whom polkit allows. 0: `request` is taken
 * over and answered in time. Else it stays the caller's, and this is the answer. */
int reload_request(Door *door, sd_bus_message *m, Request *request, Reason *reason);
