/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "base/caller.h"
#include "interfaces/error.h"

/* Turns pids as the caller sees them into ours, among the processes of uid. *ret NULL: they are the
 * same, also when the caller is unknown or gone. KT_E_NO_SUCH_PROCESS; KT_E_INVALID_SPEC when a
 * number stands for more than one process. */
int pid_namespace_translate(const Caller *caller,
                uid_t uid,
                const pid_t *pids,
                size_t n,
                pid_t **ret,
                Reason *reason);
