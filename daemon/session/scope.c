/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From the scope of a spec to the processes that are armed. Called by plan steps on the worker
 * thread. A unit or cgroup is looked up anew each time: the directory of one that was restarted is
 * another. */

#include "scope.h"

#include <errno.h>

#include "cgroup.h"

bool scope_has_newcomers(const Spec *spec) {
        return spec->scope == SCOPE_OWN || spec->scope == SCOPE_UNIT || spec->scope == SCOPE_CGROUP;
}

void scope_close_group(ArmGroup *group) {
        close_cleanup(&group->cgroup_fd);
        free(group->name);
        group->name = NULL;
}

static int open_cgroup(const Spec *spec, uid_t uid, int *ret, Reason *reason) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int root = -1;

        int r = cgroup_open_root(&root, reason);
        if (r == 0 && spec->scope == SCOPE_UNIT)
                r = cgroup_find_unit(root, spec->group, uid, &path, reason);
        return r ?: cgroup_open(root, path ?: spec->group, ret);
}

int scope_open_group(const Spec *spec, uid_t uid, ArmGroup *ret, Reason *reason) {
        _cleanup_(scope_close_group) ArmGroup group = { .cgroup_fd = -1 };

        int r = spec_format_scope(spec, &group.name);
        if (r == 0 && spec->scope != SCOPE_OWN)
                r = open_cgroup(spec, uid, &group.cgroup_fd, reason);
        if (r != 0)
                return r;
        *ret = group;
        group = (ArmGroup){ .cgroup_fd = -1 };
        return 0;
}

static int scope_list_group(Arm *arm, const Spec *spec, Reason *reason) {
        _cleanup_(scope_close_group) ArmGroup group = { .cgroup_fd = -1 };

        int r = scope_open_group(spec, arm->is_judged ? arm->rule.owner->uid : 0, &group, reason);
        if (r == -ENOENT) {
                _cleanup_free_ char *name = NULL;

                r = spec_format_scope(spec, &name);
                return r ?: cgroup_refuse(name, reason);
        }
        return r ?: arm_list_group(arm, &group, reason);
}

int scope_list(Arm *arm, const Spec *spec, const pid_t *pids, Reason *reason) {
        if (scope_has_newcomers(spec))
                return scope_list_group(arm, spec, reason);
        return arm_list_processes(arm, pids ?: spec->pids, spec->n_pids, reason);
}
