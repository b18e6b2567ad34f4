/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "interfaces/error.h"

/* Where a process is, seen from the daemon. */
typedef enum Place {
        PLACE_UNKNOWN,        /* it has ended */
        PLACE_HERE,           /* in the daemon's user and pid namespace */
        PLACE_PID_NAMESPACE,  /* in another pid namespace */
        PLACE_USER_NAMESPACE, /* in another user namespace */
        PLACE_CONTAINER,      /* in the container to whose socket it has connected */
        PLACE_OUTSIDE,        /* outside of that container */
        PLACE_UNSET,          /* no file says which cgroup that container has */
} Place;

/* pid: in the daemon's namespace; 0: it has none there. */
Place place_read(pid_t pid);
/* Returns 0 for PLACE_HERE and PLACE_CONTAINER, otherwise KT_E_ACCESS_DENIED with the reason. */
int place_check(Place place, Reason *reason);
