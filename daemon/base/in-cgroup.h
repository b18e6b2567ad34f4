/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Returns whether a task with this text of /proc/PID/cgroup is in the cgroup, or below it. cgroup:
 * the path in the unified hierarchy, without a slash at its end. */
bool in_cgroup(const char *text, const char *cgroup);
