/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks the kernel version. Used when a test of the feature would cost an RCU wait at each
 * request. */

#include "kernel/release.h"

#include <stdio.h>
#include <sys/utsname.h>

bool kernel_is_at_least(unsigned major, unsigned minor) {
        unsigned is_major, is_minor;
        struct utsname u;

        return uname(&u) == 0 && sscanf(u.release, "%u.%u", &is_major, &is_minor) == 2 &&
               (is_major > major || (is_major == major && is_minor >= minor));
}
