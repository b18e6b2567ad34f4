/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "recording/output.h"
#include "recording/pipe-transfer.h"

/* A session's stream on its way into an output. The consumer writes it when the output is a file.
 * Else this process reads it from the daemon's pipe. */
typedef struct Tap Tap;

/* proxy must be attached to its loop; the loop runs during the call. output is borrowed. */
int tap_open(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason);
/* Opens the snapshot of a flight recorder. */
int tap_open_snapshot(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason);
/* Opens the stream without a sink, so that the caller can leave while the session continues. */
int tap_open_by_pipe(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason);
Tap *tap_free(Tap *tap);
DEFINE_CLEANUP(Tap, tap_free);
/* Stops reading and printing the pipe until tap_continue(). */
void tap_hold(Tap *tap);
void tap_continue(Tap *tap);
/* The session has stopped: reads the rest even when the reader of the output does not read. */
void tap_drain(Tap *tap);
/* Leaves a stream that was opened by a pipe. The data that was received is completed. */
void tap_hang_up(Tap *tap);
/* Whether the stream is at its end or has failed. Changes only while the loop runs. */
bool tap_is_done(const Tap *tap);
/* Whether the reader of the output has left. This ends the recording and is not a failure. */
bool tap_is_deserted(const Tap *tap);
/* Returns 0, or a code with reason; then the output contains the stream up to the failure. */
int tap_get_result(const Tap *tap, Reason *reason);
uint64_t tap_get_discarded_bytes(const Tap *tap);
/* Records that the worker removed, in addition to those that the kernel lost. */
uint64_t tap_get_cut_records(const Tap *tap);
/* Describes what the output lacks of the stream with this summary. Returns NULL when nothing is
 * missing or tap_get_result() has reported it. */
const char *tap_find_missing(const Tap *tap, const ExportSummary *summary);
/* Counts the snapshot that the consumer wrote, for tap_get_summary(). Counts its events only with
 * with_events. */
void tap_count(Tap *tap, bool with_events);
/* The summary of data that came through this process and of counted snapshots. NULL when the
 * consumer wrote a stream's file. */
const ExportSummary *tap_get_summary(const Tap *tap);
