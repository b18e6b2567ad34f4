/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* Returns whether an instance of this uid is about to be gone. Not so after an attempt that failed,
 * because a process may hold it for ever. */
bool registry_is_removing(const Registry *registry, uid_t uid);
void registry_get_usage(const Registry *registry, uid_t uid, Usage *ret);
/* Sets the values that the spec leaves out: to the default, or to the maximum of the grant and the
 * limits if that is less. A given value stays. */
void registry_settle_defaults(const Registry *registry,
                const Subject *subject,
                const Grant *grant,
                Spec *spec);
/* Checks a spec whose defaults are settled. Returns 0, KT_E_LIMIT_REACHED,
 * KT_E_NAME_TAKEN or KT_E_ACCESS_DENIED. *next
 * is 0 at first. A further call after a refusal continues with the limits after that one. */
int registry_check_quota(const Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason);
/* Returns the kilobytes for each CPU of the largest shared instance that the session may join, if
 * its user has no session in it yet: it then counts with its whole size. */
uint64_t registry_get_share_room(const Session *session);
/* The same check for a session whose buffer is to have this size. */
int registry_check_resize(const Session *session, uint64_t kb, Reason *reason);
/* Checks whether a session that shares can move to a second instance with this buffer. */
int registry_check_move(const Session *session, uint64_t kb, Reason *reason);
/* {"max-sessions":…, "sessions":…} for this uid. */
int registry_describe_limits(const Registry *registry, uid_t uid, json_object **ret);
