/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* Adds all triggers of the spec, after its events are decided. */
int decision_add_triggers(Decision *d);
/* Must be called before the choices become the grant's events. */
void decision_end_triggers(Decision *d);
