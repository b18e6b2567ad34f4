/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Of ours, what neither a session nor a probe answers for. What somebody holds is removed later:
 * `orphans` until then. */
void registry_remove_orphans(Registry *registry);
Orphans *orphans_free(Orphans *orphans);
