/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/spec-options.h"
#include "terminal/context.h"

/* Adds an event ('e') or a probe (OPTION_PROBE) if ktraced would record it for the caller in the
 * scope that the options have so far. Adds nothing if this machine does not have it or the policy
 * does not allow it, and fails if ktraced cannot say so. is_command: the scope is a command that
 * does not exist yet. */
int activity_add_optional(SpecOptions *options,
                const Context *context,
                bool is_command,
                int option,
                const char *name,
                Reason *reason);

/* Adds what summary and top show: the system calls and, with is_all, wake-ups and the requests of
 * devices. Switches and the ends of threads are added for the whole system, otherwise where policy
 * allows them. */
int activity_add_events(SpecOptions *options,
                const Context *context,
                bool is_command,
                bool is_all,
                Reason *reason);
