/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

void registry_get_usage(const Registry *registry, uid_t uid, Usage *ret);
/* What the spec leaves out is set: to its default, or to what the grant and the limits allow where
 * that is less. A value that was given stays. */
void registry_settle_defaults(const Registry *registry,
                const Subject *subject,
                const Grant *grant,
                Spec *spec);
/* KT_E_LIMIT_REACHED, KT_E_NAME_TAKEN, or 0, of the spec with its defaults settled. *next: 0 at
 * first; after a refusal called again it continues with the limits after that. */
int registry_check_quota(const Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason);
/* The same of a session whose buffer is to have this size. */
int registry_check_resize(const Session *session, uint64_t kb, Reason *reason);
/* {"max-sessions":…, "sessions":…} for this uid. */
int registry_describe_limits(const Registry *registry, uid_t uid, json_object **ret);
