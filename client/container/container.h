/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

#define CONTAINER_NAME_MAX 128 /* bytes */

/* option: for the message. Returns 0, or KT_E_INVALID_SPEC with a reason that names the character.
 */
int container_check_name(const char *option, const char *name, Reason *reason);
/* Finds the cgroup of a container on this machine, by its name or by the full id of podman or
 * docker. Returns 0 with its path, as the scope "cgroup:" takes it; -errno; KT_E_INVALID_SPEC if
 * the name is none or is ambiguous; or KT_E_NO_SUCH_PROCESS. */
int container_find(const char *name, char **ret_cgroup, Reason *reason);
