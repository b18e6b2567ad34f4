/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "recording/output.h"
#include "recording/pipe-transfer.h"

/* A session's stream on its way into an output. The consumer writes it when the output is a file.
 * Else this process reads it from the daemon's pipe. */
typedef struct Transfer Transfer;

/* proxy must be attached to its loop; the loop runs during the call. output is borrowed. */
int transfer_open(Proxy *proxy,
                const char *session,
                Output *output,
                Transfer **ret,
                Reason *reason);
/* Opens the snapshot of a flight recorder. */
int transfer_open_snapshot(Proxy *proxy,
                const char *session,
                Output *output,
                Transfer **ret,
                Reason *reason);
/* Opens the stream without a sink, so that the caller can leave while the session continues. */
int transfer_open_by_pipe(Proxy *proxy,
                const char *session,
                Output *output,
                Transfer **ret,
                Reason *reason);
Transfer *transfer_free(Transfer *transfer);
DEFINE_CLEANUP(Transfer, transfer_free);
/* Stops reading and printing the pipe until transfer_continue(). */
void transfer_hold(Transfer *transfer);
void transfer_continue(Transfer *transfer);
/* The session has stopped: reads the rest even when the reader of the output does not read. */
void transfer_drain(Transfer *transfer);
/* Leaves a stream that was opened by a pipe. The data that was received is completed. */
void transfer_hang_up(Transfer *transfer);
/* Whether the stream is at its end or has failed. Changes only while the loop runs. */
bool transfer_is_done(const Transfer *transfer);
/* Whether the reader of the output has left. This ends the recording and is not a failure. */
bool transfer_is_deserted(const Transfer *transfer);
/* Returns 0, or a code with reason; then the output contains the stream up to the failure. */
int transfer_get_result(const Transfer *transfer, Reason *reason);
uint64_t transfer_get_discarded_bytes(const Transfer *transfer);
/* Records that the worker removed, in addition to those that the kernel lost. */
uint64_t transfer_get_cut_records(const Transfer *transfer);
/* Describes what the output lacks of the stream with this summary. Returns NULL when nothing is
 * missing or transfer_get_result() has reported it. */
const char *transfer_find_missing(const Transfer *transfer, const ExportSummary *summary);
/* Counts the snapshot that the consumer wrote, for transfer_get_summary(). Counts its events only
 * with with_events. */
void transfer_count(Transfer *transfer, bool with_events);
/* The summary of data that came through this process and of counted snapshots. NULL when the
 * consumer wrote a stream's file. */
const ExportSummary *transfer_get_summary(const Transfer *transfer);
