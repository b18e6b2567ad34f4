/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether the daemon still has work. If it has none, the manager lets it exit. */

#include "session/registry-idle.h"

#include "session/black-box.h"
#include "session/pool.h"

void registry_idle_changed(Registry *registry) {
        if (registry->is_closing)
                return;
        pool_settle(registry->pool);
        registry->options.handlers.on_idle_changed(registry, registry->options.userdata);
}

bool registry_is_idle(const Registry *registry) {
        return (!registry->spool || spool_is_idle(registry->spool)) && !registry->boot &&
               !registry->orphans && pool_is_idle(registry->pool) &&
               black_box_is_idle(registry->black_box) && crash_is_idle(registry->crash) &&
               turns_is_idle(registry->turns) && TAILQ_EMPTY(&registry->sessions) &&
               TAILQ_EMPTY(&registry->drains) && probe_set_is_idle(registry->probes) &&
               inspections_are_idle(registry->inspections);
}
