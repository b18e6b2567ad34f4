/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

void grant_event_clear(GrantEvent *event);
/* Copies what a rule gives of an event: its fields, keys and members, but neither names nor
 * filters. to: zeroed; the caller clears it, also on failure. Returns 0 or -ENOMEM. */
int grant_event_copy(GrantEvent *to, const GrantEvent *from);
