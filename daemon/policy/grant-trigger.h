/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* All of the spec's triggers, when its events are decided. */
int decision_add_triggers(Decision *d);
/* Before the choices become the grant's events. */
void decision_end_triggers(Decision *d);
