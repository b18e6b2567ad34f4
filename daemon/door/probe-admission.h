/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* Defines a probe; asks polkit first if a rule requires it. Owns request and definition if it
 * returns 0; the request is answered later. */
int probe_admission_add(Desk *desk, Request *request, Definition *definition, Reason *reason);
