/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* The same rule, events, filters, cuts and limits: what was allowed of one holds for the other. */
bool grant_is_same(const Grant *a, const Grant *b);
