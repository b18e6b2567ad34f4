/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads how soon the kernel reuses a task id. Called by session. */

#include "kernel/pid-max.h"

#include <fcntl.h>

#include "kernel/tracefs.h"

int pid_max_read(uint64_t *ret) {
        return tracefs_read_u64(AT_FDCWD, "/proc/sys/kernel/pid_max", ret);
}
