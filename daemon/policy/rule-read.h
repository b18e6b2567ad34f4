/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/rule.h"

/* Appends the rules of one parsed file; `file` is its name without directory. On failure the list
 * may contain some of them. Fails with KT_E_INVALID_SPEC or KT_E_UNKNOWN_KEY and a reason with file
 * and place. */
int rule_list_add_json(RuleList *list, const char *file, json_object *o, Reason *reason);
