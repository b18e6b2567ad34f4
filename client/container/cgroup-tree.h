/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "interfaces/error.h"

#define CONTAINER_ID_SIZE 64

/* Whether the text is a full id of podman or docker: 64 hexadecimal digits. */
bool cgroup_tree_is_id(const char *text);
/* Returns a descriptor of the cgroup v2 tree, or a negative errno. */
int cgroup_tree_open(void);
/* Finds the cgroup of the container with this id, below the directories of uid and of root. *ret is
 * its path below root, such as "/machine.slice/libpod-….scope", or NULL if there is none. Returns
 * 0, -errno, or KT_E_INVALID_SPEC with a reason if there are two. */
int cgroup_tree_find(int root, uid_t uid, const char *id, char **ret, Reason *reason);
/* The same below the directories of any user, to explain why nothing was found: another user may
 * have chosen the name. Returns the path and the owner of its directory, or NULL. */
char *cgroup_tree_find_foreign(int root, const char *id, uid_t *ret_owner);
/* Reads the cgroup of a process, and cuts it after the directory of the unit. *ret is NULL if the
 * process has ended or is not in the unit. */
int cgroup_tree_find_unit(pid_t pid, const char *unit, char **ret);
