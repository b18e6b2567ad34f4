/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* The session is about to be freed. */
void reload_forget_session(Registry *registry, const Session *session);
/* Applies these rules (borrowed) and limits from now on. Sessions that no longer comply end with
 * the code "policy". `done` is called when all sessions were judged: in a later turn of the loop,
 * exactly once. If the function does not return 0, the old rules stay and `done` is not called.
 * done: may be NULL. */
int registry_set_rules(Registry *registry,
                const Policy *policy,
                const Limits *limits,
                RulesHandler done,
                void *userdata);
/* Checks the limits of a single session. Fails with KT_E_LIMIT_REACHED. */
int session_check_limits(const Session *session, const Grant *now, Reason *reason);
