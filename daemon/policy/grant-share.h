/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"
#include "policy/policy.h"

/* Returns why the session cannot share an instance, as the name of what it wants for itself, or
 * NULL if it can. */
const char *grant_find_exclusive(const Spec *spec, const Grant *grant);
