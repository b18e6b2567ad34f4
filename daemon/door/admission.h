/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* As session_create, but asks polkit first if policy requires it. The same contract: returns 0 and
 * owns both, or returns the answer. */
int admission_create(Desk *desk, Request *request, Spec *spec /* consumed on 0 */, Reason *reason);
