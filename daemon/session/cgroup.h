/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "error.h"

/* The cgroup v2 tree, read only. `root` is its directory. */

/* KT_E_KERNEL_REFUSED where there is none. */
int cgroup_open_root(int *ret, Reason *reason);
/* path: absolute, as in a spec; no symlink is followed. -ENOENT. */
int cgroup_open(int root, const char *path, int *ret);
/* The cgroup of a systemd unit: one below the caller's own slice or system.slice, for root
 * anywhere. -ENOENT; KT_E_INVALID_SPEC when there is more than one. */
int cgroup_find_unit(int root, const char *name, uid_t uid, char **ret_path, Reason *reason);
/* The same for root, but that what users' managers and containers have is passed over. */
int cgroup_find_system_unit(int root, const char *name, char **ret_path, Reason *reason);
/* Processes in it and below, in no order; one that moves meanwhile may be missed. Empty when it has
 * been removed. -E2BIG: too many, or too deep. */
int cgroup_list_processes(int cgroup, pid_t **ret, size_t *ret_n);
/* KT_E_NO_SUCH_PROCESS: the one answer for whatever is absent, empty or another's. */
int cgroup_refuse(const char *name, Reason *reason);
