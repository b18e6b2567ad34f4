/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* Checks the keys that are not about events. */
int decision_check_kernel(const Decision *d);
