/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"

/* session_create for the caller, who is asked by polkit first where policy wants that. The
 * same contract: 0 and both are taken over, or the answer. */
int admission_create(Desk *desk, Request *request, Spec *spec /* consumed on 0 */, Reason *reason);
