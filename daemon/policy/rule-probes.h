/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"
#include "policy/rule.h"

/* Decides by the subject's first rule about probes. Fails with KT_E_ACCESS_DENIED, or returns 0 and
 * the polkit action that must be allowed: static, NULL: none. */
int policy_decide_probe(const Policy *policy,
                const Subject *subject,
                const ProbeRequest *request,
                const char **ret_action,
                Reason *reason);
/* Returns the fields of an entry of the catalogue that a histogram may count by. NULL: none. */
const PlaceStrings *rule_probes_find_keys(const RuleProbes *probes, const char *entry);
int rule_read_probes(void *rule, json_object *o, const Place *place);
RuleProbes *rule_probes_free(RuleProbes *probes);
