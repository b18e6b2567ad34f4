/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exporter/otlp-push.h"
#include "trace/text-block.h"

/* The connection to the receiver. */
typedef struct OtlpRequest OtlpRequest;

typedef enum OtlpResult {
        OTLP_ACCEPTED,
        OTLP_LATER,   /* may succeed when it is repeated */
        OTLP_REFUSED, /* would fail again */
} OtlpResult;

typedef struct OtlpAnswer {
        OtlpResult result;
        uint64_t wait_sec;          /* OTLP_LATER: at least this; 0: the receiver does not say */
        uint64_t n_rejected_points; /* OTLP_ACCEPTED: partial success */
        char text[256];             /* what happened; printable */
} OtlpAnswer;

/* See otlp_push_new. stops: ends a request when it becomes true; borrowed, read atomically. */
int otlp_request_new(const OtlpSettings *settings,
                const bool *stops,
                OtlpRequest **ret,
                Reason *reason);
OtlpRequest *otlp_request_free(OtlpRequest *request);
DEFINE_CLEANUP(OtlpRequest, otlp_request_free);
/* Sends the text and waits for the answer. */
void otlp_request_send(OtlpRequest *request, const TextBlock *body, OtlpAnswer *ret);
