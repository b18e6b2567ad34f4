/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "interfaces/error.h"

/* The cgroup v2 tree, read only. `root` is its directory. */

/* KT_E_KERNEL_REFUSED where there is none. */
int cgroup_open_root(int *ret, Reason *reason);
/* path: absolute, as in a spec; no symlink is followed. -ENOENT. */
int cgroup_open(int root, const char *path, int *ret);

/* Which unit is wanted, and by whom. */
typedef struct UnitQuery {
        const char *name;
        uid_t uid;
        bool sees_all; /* not only the caller's own slice and system.slice */
} UnitQuery;

/* The cgroup of a systemd unit: of the system's manager, or below the caller's own slice. One that
 * sees all gets the system's first, others must not have two of the name. What users and containers
 * have named is not looked at, but for the caller's own. -ENOENT; KT_E_INVALID_SPEC when there is
 * more than one; KT_E_LIMIT_REACHED. */
int cgroup_find_unit(int root, const UnitQuery *query, char **ret_path, Reason *reason);
/* The only one of that name among all that users' managers and containers have named: anybody may
 * have made it. */
int cgroup_find_delegated_unit(int root, const char *name, char **ret_path, Reason *reason);

typedef struct CgroupProcesses {
        pid_t *pids;
        size_t n;
        unsigned n_skipped; /* cgroups of delegated parts that could not be read */
} CgroupProcesses;

void cgroup_processes_clear(CgroupProcesses *list);
/* Processes in it and below, in no order; one that moves meanwhile may be missed. Empty when it has
 * been removed. -E2BIG: too many, or too deep, outside of delegated parts. */
int cgroup_list_processes(int cgroup, CgroupProcesses *ret);
/* KT_E_NO_SUCH_PROCESS: the one answer for whatever is absent, empty or another's. */
int cgroup_refuse(const char *name, Reason *reason);
