/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* names: "system:event", of the whole kernel. Only names in the view are suggested, so the answer
 * reveals nothing about others. */
Suggestion policy_suggest_event(const PolicyView *view,
                const char *const *names,
                size_t n_names,
                const char *wanted);
