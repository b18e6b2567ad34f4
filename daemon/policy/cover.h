/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* Returns 0 if `now` grants everything that `then` granted, limits aside. Otherwise fails with
 * KT_E_ACCESS_DENIED; the reason names what is missing, and the rule. */
int grant_check_covers(const Grant *now, const Grant *then, Reason *reason);
