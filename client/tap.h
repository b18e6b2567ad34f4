/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "flow.h"
#include "output.h"
#include "proxy.h"

/* A session's stream on its way into an output: written by the consumer itself where the output is
 * a file, else read from the daemon's pipe by us. */
typedef struct Tap Tap;

/* proxy must be attached to its loop, which runs meanwhile. output is borrowed. */
int tap_open(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason);
/* What a flight recorder holds. */
int tap_open_snapshot(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason);
/* The same of the stream, never by a sink: it can be left while the session goes on. */
int tap_open_by_pipe(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason);
Tap *tap_free(Tap *tap);
DEFINE_CLEANUP(Tap, tap_free);
/* What comes through a pipe is neither read nor printed until tap_continue(). */
void tap_hold(Tap *tap);
void tap_continue(Tap *tap);
/* The session has stopped: takes the rest even when the reader of the output does not. */
void tap_drain(Tap *tap);
/* Leaves a stream opened by a pipe; what has come is finished. */
void tap_hang_up(Tap *tap);
/* The stream is at its end, or has failed; the loop makes it so. */
bool tap_is_done(const Tap *tap);
/* The reader of the output has gone: the end of the recording, not a failure. */
bool tap_is_deserted(const Tap *tap);
/* 0, or a code with reason: the output holds the stream up to there. */
int tap_get_result(const Tap *tap, Reason *reason);
uint64_t tap_get_discarded_bytes(const Tap *tap);
/* Records that the worker did not tell, beside what the kernel lost. */
uint64_t tap_get_cut_records(const Tap *tap);
/* What the output lacks of the stream whose summary this is; NULL: nothing, or tap_get_result() has
 * told. */
const char *tap_find_missing(const Tap *tap, const ExportSummary *summary);
/* What the consumer wrote of a snapshot is counted for tap_get_summary(), the events only where
 * they are wanted. */
void tap_count(Tap *tap, bool with_events);
/* Of what came through us, and of snapshots that were counted; NULL when the consumer wrote a
 * stream's file. */
const ExportSummary *tap_get_summary(const Tap *tap);
