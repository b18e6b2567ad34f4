/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* Checks a request of a container. Returns 0 for all other subjects. */
int decision_check_container(const Decision *d);
