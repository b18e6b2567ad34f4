/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* What of a granted session this kernel cannot do, as far as tracefs tells it before anything is
 * made: from *next on, which moves behind what is told; 0: nothing more. In the words, and by the
 * codes, with which making it would be refused. */
int registry_check_kernel(Registry *registry,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason);
