/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "interfaces/spec.h"

/* The cgroup of the unit for a session with lifetime unit:NAME. */
typedef struct UnitPlace {
        char *path;  /* in the unified hierarchy; NULL: another lifetime */
        uint64_t id; /* of the cgroup; a new cgroup at the path has another id */
} UnitPlace;

void unit_place_clear(UnitPlace *place);
/* Finds the place if the spec's lifetime is a unit. KT_E_NO_SUCH_PROCESS if the unit has no
 * processes. For the worker thread. */
int unit_place_find(const Spec *spec, uid_t uid, UnitPlace *ret, Reason *reason);

typedef struct UnitWatch UnitWatch;
typedef void (*UnitWatchHandler)(void *userdata);

/* handler is called once, when the last process has left the cgroup or the cgroup was removed.
 * -ESRCH: that has already happened. */
int unit_watch_new(sd_event *event,
                const UnitPlace *place,
                UnitWatchHandler handler,
                void *userdata,
                UnitWatch **ret);
UnitWatch *unit_watch_free(UnitWatch *watch);
DEFINE_CLEANUP(UnitWatch, unit_watch_free);
