/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel/instance.h"

#define CRED_GUARD_GROUP "ktrace_guard"
#define CRED_GUARD_EVENT "commit_creds"
#define CRED_GUARD_PATH  "events/" CRED_GUARD_GROUP "/" CRED_GUARD_EVENT

/* Defines the probe on changes of credentials, one for all instances, unless it exists.
 * -EOPNOTSUPP: this kernel does not support it. -EEXIST: another definition has its name. */
int cred_guard_define(const Tracefs *tracefs);
/* Removes the definition, unless the guard of an instance uses it. */
int cred_guard_remove_unused(const Tracefs *tracefs);

/* Arms the instance. When a listed task changes its credentials, tracing stops permanently before
 * the task continues, and the change is counted. The pid list must not be empty: with an empty list
 * the changes of all tasks count. */
int cred_guard_install(const Instance *instance, uid_t uid, gid_t gid);
/* Pauses the histograms of this event at the same moment, with the guard's condition. */
int cred_guard_install_twin(const Instance *instance,
                uid_t uid,
                gid_t gid,
                const char *system,
                const char *event);
int cred_guard_lift_twin(const Instance *instance, const char *system, const char *event);

/* The events with a twin: alternating system and name. */
typedef struct CredGuardTwins {
        const char *const *names;
        size_t n;
} CredGuardTwins;

/* Returns whether the guard is still installed unchanged. Does not check whether it has fired. */
int cred_guard_stands(const Instance *instance,
                uid_t uid,
                gid_t gid,
                const CredGuardTwins *twins,
                bool *ret);
/* Reads whether the guard has counted a change. */
int cred_guard_has_fired(const Instance *instance, bool *ret);
/* Disarms the instance. Its events must be off. */
int cred_guard_lift(const Instance *instance, uid_t uid, gid_t gid);
