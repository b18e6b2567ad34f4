/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* probe_set_define, and polkit where a rule wants it. Takes request and definition when it
 * returns 0: the request is answered then. */
int probe_admission_add(Desk *desk, Request *request, Definition *definition, Reason *reason);
