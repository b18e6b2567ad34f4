/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Returns 0, or KT_E_NO_TRACING with the reason. */
int registry_get_tracefs(Registry *registry, const Tracefs **ret, Reason *reason);
