/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* registry_is_idle() may have changed. */
void registry_idle_changed(Registry *registry);
bool registry_is_idle(const Registry *registry);
