/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* Manager.Reload, Manager.Administrate and Manager.Watch of all sessions for the caller: root, and
 * users that polkit allows. Returns 0 if `request` is taken over; it is answered later. Otherwise
 * the caller keeps the request, and the return value is the answer. */
int privilege_reload(Desk *desk, Request *request, Reason *reason);
int privilege_administrate(Desk *desk, Request *request, Reason *reason);
int privilege_watch_all(Desk *desk, Request *request, Reason *reason);
