/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session-parts.h"
#include "session/session.h"

/* The session is about to be freed. */
void reload_forget_session(Registry *registry, const Session *session);
/* From now on these rules (borrowed) and limits; sessions that no longer fit them end, with code
 * "policy". done: all sessions were judged; from a later turn of the loop, exactly once. NULL: not
 * called. Else than 0: the old ones stay. */
int registry_set_rules(Registry *registry,
                const Policy *policy,
                const Limits *limits,
                RulesHandler done,
                void *userdata);
/* What one session may have by itself; KT_E_LIMIT_REACHED. */
int session_check_limits(const Session *session, const Grant *now, Reason *reason);
