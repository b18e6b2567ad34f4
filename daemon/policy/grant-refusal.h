/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* Called when an entry granted no event: distinguishes a missing event from one that is not
 * allowed. Always fails. */
int decision_refuse(const Decision *d, const char *wanted);
