/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Reports a requirement of a granted session that this kernel does not meet, as far as tracefs
 * shows it before anything is made. The search starts at *next, which then moves past the reported
 * requirement. Returns 0 if there are no further ones. The codes and texts are the same as when the
 * session is made. */
int registry_check_kernel(Registry *registry,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason);
