/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"
#include "policy/rule.h"

/* The first rule of the subject that says anything of probes. KT_E_ACCESS_DENIED, or 0 and what
 * polkit has to say yes to: static, NULL: nothing. */
int policy_decide_probe(const Policy *policy,
                const Subject *subject,
                const ProbeRequest *request,
                const char **ret_action,
                Reason *reason);
int rule_read_probes(void *rule, json_object *o, const Place *place);
RuleProbes *rule_probes_free(RuleProbes *probes);
