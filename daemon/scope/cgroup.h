/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "interfaces/error.h"

/* The cgroup v2 tree, read only. `root` is its directory. */

/* Fails with KT_E_KERNEL_REFUSED if no unified hierarchy is mounted. */
int cgroup_open_root(int *ret, Reason *reason);
/* path: absolute, as in a spec. Symlinks are not followed. Fails with -ENOENT. */
int cgroup_open(int root, const char *path, int *ret);

/* The name of a unit, and the caller who asks for it. */
typedef struct UnitQuery {
        const char *name;
        uid_t uid;
        bool sees_all; /* not limited to the caller's own slice and system.slice */
} UnitQuery;

/* Finds the cgroup of a systemd unit: a unit of the system's manager, or one below the caller's own
 * slice. A caller with sees_all gets the unit of the system first. For other callers the name must
 * be unique. Cgroups named by users and containers are skipped, except the caller's own. Fails with
 * -ENOENT, with KT_E_INVALID_SPEC if more than one unit matches, and with KT_E_LIMIT_REACHED. */
int cgroup_find_unit(int root, const UnitQuery *query, char **ret_path, Reason *reason);
/* Finds the only cgroup of that name among those named by users' managers and containers. Any user
 * may have made it. */
int cgroup_find_delegated_unit(int root, const char *name, char **ret_path, Reason *reason);

typedef struct CgroupProcesses {
        pid_t *pids;
        size_t n;
        unsigned n_skipped; /* cgroups of delegated parts that could not be read */
} CgroupProcesses;

void cgroup_processes_clear(CgroupProcesses *list);
/* Lists the processes in the cgroup and below it, unsorted. A process that moves during the walk
 * may be missed. The list is empty if the cgroup was removed. -E2BIG: too many, or too deep,
 * outside of delegated parts. */
int cgroup_list_processes(int cgroup, CgroupProcesses *ret);
/* Returns KT_E_NO_SUCH_PROCESS, the same answer for an absent cgroup, an empty one, and one of
 * another user. */
int cgroup_refuse(const char *name, Reason *reason);
