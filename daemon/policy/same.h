/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* Returns whether both have the same rule, events, filters, cuts and limits, so that a permission
 * for one applies to the other. */
bool grant_is_same(const Grant *a, const Grant *b);
/* Returns whether sessions with these grants make the kernel record the same: the same events, in
 * any order, with the same filters. An event that is off at the beginning is never the same: one of
 * them may turn it on, and the other one not. False also if there is no memory. */
bool grant_records_same(const Grant *a, const Grant *b);
