/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed.h"
#include "session/session.h"

/* {"version","pid","memory-kb","cpu-usec","uptime-usec","sessions","running","streams",
 * "kernel-buffer-kb","consumers":[{"session","uid","pid","memory-kb","cpu-usec"}]}: of the sessions
 * of the subject, or of all sessions if the subject is root. Who may trace or count all processes
 * also gets "totals" (make_totals, counters_describe). */
int registry_describe_status(Registry *registry, const Subject *subject, json_object **ret);
/* Counts those of all users. */
void registry_count(const Registry *registry, size_t *ret_sessions, size_t *ret_streams);
/* Adds what a reader has got to the totals, when it leaves. */
void registry_count_reader(Registry *registry, const Feed *feed);
/* The same when the stream is closed. Also counts a worker that has failed. */
void registry_count_feed(Registry *registry, const Feed *feed);
