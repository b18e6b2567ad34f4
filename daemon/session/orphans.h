/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Removes our instances and probes that have no owner. Those that are in use are removed later, and
 * `orphans` is set until then. */
void registry_remove_orphans(Registry *registry);
Orphans *orphans_free(Orphans *orphans);
