/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/session.h"

/* {"version","pid","memory-kb","cpu-usec","uptime-usec","sessions","running","streams",
 * "kernel-buffer-kb","consumers":[{"session","uid","pid","memory-kb","cpu-usec"}]}: of the sessions
 * of the subject, or of all sessions if the subject is root. */
int registry_describe_status(const Registry *registry, const Subject *subject, json_object **ret);
/* Counts those of all users. */
void registry_count(const Registry *registry, size_t *ret_sessions, size_t *ret_streams);
