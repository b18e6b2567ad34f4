/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* Makes a cgroup for this test in the unified hierarchy. Returns its path as a scope has it, or
 * NULL if that is not possible here. */
char *cgroup_fixture_new(const char *name);
/* Moves a process into it; NULL: into the root. */
void cgroup_fixture_move(const char *path, pid_t pid);
/* Removes it, and frees the path. Its processes must have ended, or have been moved. */
void cgroup_fixture_free(char *path);
