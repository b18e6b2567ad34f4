/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's only open tracefs. It is opened when it is first needed, because it may be mounted
 * after the daemon has started. */

#include "session/registry-tracefs.h"

int registry_get_tracefs(Registry *registry, const Tracefs **ret, Reason *reason) {
        if (!registry->tracefs) {
                int r = tracefs_open(registry->options.tracefs_path, &registry->tracefs, reason);
                if (r != 0)
                        return r;
                registry->probes->tracefs = registry->tracefs;
                registry->on_tracefs(registry);
        }
        if (ret)
                *ret = registry->tracefs;
        return 0;
}
