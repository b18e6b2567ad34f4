/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* 0: `now` gives all that `then` gave, limits aside. Else KT_E_ACCESS_DENIED with what is less, and
 * the rule. */
int grant_check_covers(const Grant *now, const Grant *then, Reason *reason);
