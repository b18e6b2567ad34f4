/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "metrics/board.h"

#define OTLP_QUEUE_MAX 8 /* snapshots that wait for the receiver */

/* Borrowed during otlp_push_new. */
typedef struct OtlpSettings {
        const char *endpoint;     /* "https://collector:4318"; /v1/metrics is appended */
        const char *headers_file; /* one "Name: value" per line, such as a credential; NULL: none */
        const char *ca_file;    /* certificates that may sign the receiver's; NULL: the system's */
        uint64_t interval_usec; /* between two snapshots that are sent */
} OtlpSettings;

typedef struct OtlpCounts {
        uint64_t n_sent;    /* snapshots that the receiver has accepted */
        uint64_t n_retries; /* requests that failed and are repeated */
        uint64_t n_refused; /* snapshots that the receiver refused, or that cannot be printed */
        uint64_t n_dropped; /* snapshots that left the full queue */
        uint64_t n_rejected_points; /* of accepted snapshots (partial success) */
        uint64_t n_queued;          /* snapshots that wait now */
} OtlpCounts;

/* Sends snapshots to an OpenTelemetry receiver, in a thread of its own. */
typedef struct OtlpPush OtlpPush;

/* Returns 0, -errno, or KT_E_INVALID_SPEC or KT_E_FAILED with a reason. */
int otlp_push_new(const OtlpSettings *settings, Board *board, OtlpPush **ret, Reason *reason);
OtlpCounts otlp_push_get_counts(OtlpPush *push);
/* Drops what waits. Returns within a second. */
OtlpPush *otlp_push_free(OtlpPush *push);
DEFINE_CLEANUP(OtlpPush, otlp_push_free);
