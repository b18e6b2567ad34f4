/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Waits until no CPU's counters move any more: what is left where the kernel cannot tell that all
 * handlers have ended. -ETIMEDOUT when they do not come to rest. */
int buffer_wait_quiet(const Instance *instance);
