/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"
#include "policy/grant-event.h"
#include "policy/policy.h"

Grant *grant_free(Grant *grant);
DEFINE_CLEANUP(Grant, grant_free);
/* First match, deny by default, root always allowed. Returns 0 and a grant, or fails with
 * KT_E_ACCESS_DENIED, KT_E_NO_SUCH_EVENT or KT_E_INVALID_SPEC (a filter) and the reason. A plain
 * name that is not granted is refused; a glob is narrowed, and refused if none of its events is
 * granted. If the same event is named twice with two filters, both are joined by ||. */
int policy_decide(const Policy *policy,
                const Subject *subject,
                const Spec *spec,
                const PolicyEvents *events,
                Grant **ret,
                Reason *reason);
int decision_new(const Policy *policy,
                const Subject *subject,
                const Spec *spec,
                const PolicyEvents *events,
                Decision **ret);
Decision *decision_free(Decision *decision);
DEFINE_CLEANUP(Decision, decision_free);
/* Continues for about `work` units of 20 ns. Returns DECISION_AGAIN if work remains, else as
 * policy_decide. */
int decision_advance(Decision *decision, int64_t work, Reason *reason);
/* Must be called only after decision_advance returned 0. */
Grant *decision_take_grant(Decision *decision);
