/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* Grants one of the kernel's events. from: what the rule gives of it; NULL for root. On failure the
 * choice is incomplete, and the caller clears it. */
int decision_grant_event(Decision *d,
                const char *system,
                const char *name,
                const GrantEvent *from,
                Choice *choice);
/* Grants an event that only triggers need. choice: NULL if the event does not exist. */
int decision_grant_unrecorded(Decision *d, const char *full, Choice *choice);
