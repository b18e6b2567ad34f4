/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "interfaces/spec.h"

/* The cgroup of the unit that a session of lifetime unit:NAME lives as long as. */
typedef struct UnitPlace {
        char *path;  /* in the unified hierarchy; NULL: no such lifetime */
        uint64_t id; /* of the cgroup: one that is made anew at the path has another */
} UnitPlace;

void unit_place_clear(UnitPlace *place);
/* Where the spec's lifetime is a unit's. KT_E_NO_SUCH_PROCESS when it has no processes; for the
 * worker thread. */
int unit_place_find(const Spec *spec, uid_t uid, UnitPlace *ret, Reason *reason);

typedef struct UnitWatch UnitWatch;
typedef void (*UnitWatchHandler)(void *userdata);

/* handler: once, when the last process has left it or it is gone. -ESRCH: that is so already. */
int unit_watch_new(sd_event *event,
                const UnitPlace *place,
                UnitWatchHandler handler,
                void *userdata,
                UnitWatch **ret);
UnitWatch *unit_watch_free(UnitWatch *watch);
DEFINE_CLEANUP(UnitWatch, unit_watch_free);
