/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"
#include "scope/arm.h"

/* Returns whether processes may join this scope in another way than as children of its
 * processes. */
bool scope_has_newcomers(const Spec *spec);

/* The user of a search in the cgroup tree. */
typedef struct ScopeViewer {
        const Subject *subject;
        bool sees_all; /* may name units of other users */
} ScopeViewer;

/* Opens the group of processes of such a scope. -ENOENT: the unit or cgroup does not exist now. */
int scope_open_group(const Spec *spec, const ScopeViewer *viewer, ArmGroup *ret, Reason *reason);
void scope_close_group(ArmGroup *group);
/* Lists every process of the scope, see arm.h. Not for the scope system. pids replaces the spec's
 * pids, unless it is NULL. */
int scope_list(Arm *arm, const Spec *spec, const pid_t *pids, Reason *reason);
