/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel/instance.h"

#define CRED_GUARD_GROUP "ktrace_guard"
#define CRED_GUARD_EVENT "commit_creds"
#define CRED_GUARD_PATH  "events/" CRED_GUARD_GROUP "/" CRED_GUARD_EVENT

/* The probe on changes of credentials, one for all instances. Makes it unless it stands.
 * -EOPNOTSUPP: this kernel cannot have it. -EEXIST: what stands under its name is another's. */
int cred_guard_define(const Tracefs *tracefs);
/* Takes the definition away, unless an instance of ours is left that may have used it. */
int cred_guard_remove_unused(const Tracefs *tracefs);

/* Arms the instance: tracing stops, for good, before a listed task that changes its credentials
 * does anything with them; and counts it. The pid list must have been begun, for with an empty one
 * everybody's changes count. */
int cred_guard_install(const Instance *instance, uid_t uid, gid_t gid);
/* Histograms of this event are paused at the same moment. Its condition is the guard's. */
int cred_guard_install_twin(const Instance *instance,
                uid_t uid,
                gid_t gid,
                const char *system,
                const char *event);
int cred_guard_lift_twin(const Instance *instance, const char *system, const char *event);

/* The events with a twin: system and name of each, one behind the other. */
typedef struct CredGuardTwins {
        const char *const *names;
        size_t n;
} CredGuardTwins;

/* Does it stand as it was laid? Does not ask whether it has fired. */
int cred_guard_stands(const Instance *instance,
                uid_t uid,
                gid_t gid,
                const CredGuardTwins *twins,
                bool *ret);
/* Has it counted anything? */
int cred_guard_has_fired(const Instance *instance, bool *ret);
/* Disarms. Events must be off. */
int cred_guard_lift(const Instance *instance, uid_t uid, gid_t gid);
