/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* Manager.Reload and Manager.Administrate for the caller: root, and those whom polkit allows.
 * 0: `request` is taken over and answered in time. Else it stays the caller's, and this is the
 * answer. */
int privilege_reload(Desk *desk, Request *request, Reason *reason);
int privilege_administrate(Desk *desk, Request *request, Reason *reason);
