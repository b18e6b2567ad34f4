/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* Returns whether both have the same rule, events, filters, cuts and limits, so that a permission
 * for one applies to the other. */
bool grant_is_same(const Grant *a, const Grant *b);
