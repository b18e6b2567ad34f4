/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "base/caller.h"
#include "interfaces/error.h"

/* Returns whether the daemon is in the first pid namespace of the machine, or a negative errno. */
int pid_namespace_is_first(void);

/* Translates pids of the caller's namespace into ours, among the processes of a cgroup, which the
 * caller is in. *ret is NULL if both are the same, because the container has no pid namespace.
 * Fails with KT_E_NO_SUCH_PROCESS, and with KT_E_INVALID_SPEC if a number matches more than one
 * process. */
int pid_namespace_translate(const Caller *caller,
                const char *cgroup,
                const pid_t *pids,
                size_t n,
                pid_t **ret,
                Reason *reason);
