/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"
#include "scope/arm.h"

/* May processes come to this scope other than as children of those in it? */
bool scope_has_newcomers(const Spec *spec);

/* Whose sight of the tree of cgroups it is. */
typedef struct ScopeViewer {
        uid_t uid;
        bool sees_all; /* what it names need not be its own */
} ScopeViewer;

/* A group of processes of such a scope. -ENOENT: no such unit or cgroup now. */
int scope_open_group(const Spec *spec, const ScopeViewer *viewer, ArmGroup *ret, Reason *reason);
void scope_close_group(ArmGroup *group);
/* Lists every process of the scope, see arm.h. Not for system. pids: to be taken for the spec's, or
 * NULL. */
int scope_list(Arm *arm, const Spec *spec, const pid_t *pids, Reason *reason);
