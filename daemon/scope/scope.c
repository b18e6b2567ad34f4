/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds and arms the processes in the scope of a spec. Called by plan steps on the worker thread.
 * It looks up a unit or cgroup again each time, because a restarted one has a new directory. */

#include "scope/scope.h"

#include <errno.h>

#include "interfaces/spec-scope.h"
#include "scope/arm-group.h"
#include "scope/cgroup.h"

bool scope_has_newcomers(const Spec *spec) {
        return spec->scope == SCOPE_OWN || spec->scope == SCOPE_UNIT || spec->scope == SCOPE_CGROUP;
}

void scope_close_group(ArmGroup *group) {
        close_cleanup(&group->cgroup_fd);
        free(group->name);
        group->name = NULL;
}

static int open_cgroup(const Spec *spec, const ScopeViewer *viewer, int *ret, Reason *reason) {
        const UnitQuery query = { spec->group, viewer->subject->uid, viewer->sees_all };
        const char *given = spec->scope == SCOPE_OWN ? viewer->subject->cgroup : spec->group;
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int root = -1;

        int r = cgroup_open_root(&root, reason);
        if (r == 0 && spec->scope == SCOPE_UNIT)
                r = cgroup_find_unit(root, &query, &path, reason);
        return r ?: cgroup_open(root, path ?: given, ret);
}

int scope_open_group(const Spec *spec, const ScopeViewer *viewer, ArmGroup *ret, Reason *reason) {
        _cleanup_(scope_close_group) ArmGroup group = { .cgroup_fd = -1 };

        int r = spec_format_scope(spec, &group.name);
        group.is_own = spec->scope == SCOPE_OWN;
        if (r == 0 && (!group.is_own || viewer->subject->cgroup))
                r = open_cgroup(spec, viewer, &group.cgroup_fd, reason);
        if (r != 0)
                return r;
        *ret = group;
        group = (ArmGroup){ .cgroup_fd = -1 };
        return 0;
}

/* Any user with a delegated part of the tree can make a cgroup of that name in it. So the cgroup is
 * not used as the unit; the error only names it. */
static int refuse_delegated(const Spec *spec, const char *name, Reason *reason) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int root = -1;

        int r = cgroup_open_root(&root, reason);
        r = r ?: cgroup_find_delegated_unit(root, spec->group, &path, reason);
        if (r == -ENOENT)
                return cgroup_refuse(name, reason);
        return r
                               ?: reason_set(reason,
                                                  KT_E_NO_SUCH_PROCESS,
                                                  "scope %.200s: no unit of the system manager has this name, but a cgroup that "
                                                  "a user or a container has made: write cgroup:%.200s",
                                                  name,
                                                  path);
}

static int scope_list_group(Arm *arm, const Spec *spec, Reason *reason) {
        _cleanup_(scope_close_group) ArmGroup group = { .cgroup_fd = -1 };
        const ScopeViewer viewer = { arm->rule.owner, !arm->is_judged };
        _cleanup_free_ char *name = NULL;

        int r = scope_open_group(spec, &viewer, &group, reason);
        if (r != -ENOENT)
                return r ?: arm_list_group(arm, &group, reason);
        r = spec_format_scope(spec, &name);
        if (r == 0 && spec->scope == SCOPE_UNIT && viewer.sees_all)
                return refuse_delegated(spec, name, reason);
        return r ?: cgroup_refuse(name, reason);
}

int scope_list(Arm *arm, const Spec *spec, const pid_t *pids, Reason *reason) {
        if (scope_has_newcomers(spec))
                return scope_list_group(arm, spec, reason);
        return arm_list_processes(arm, pids ?: spec->pids, spec->n_pids, reason);
}
