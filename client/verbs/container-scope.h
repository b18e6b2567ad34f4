/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/spec-options.h"
#include "terminal/context.h"

/* With -M: finds the container, and makes its processes the scope. Returns 0, -errno, or a positive
 * error with its reason. */
int container_scope_take(SpecOptions *options, const Context *context, Reason *reason);
