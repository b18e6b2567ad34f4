/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "exporter/text-format.h"
#include "metrics/board.h"

struct MHD_Connection;

/* The answers made from the newest snapshot. All functions may be called by any thread. */
typedef struct HttpBodies HttpBodies;

typedef struct HttpBodyKind {
        TextFormat format;
        bool has_private;
        bool is_gzip;
} HttpBodyKind;

HttpBodies *http_bodies_new(Board *board);
HttpBodies *http_bodies_free(HttpBodies *bodies);
DEFINE_CLEANUP(HttpBodies, http_bodies_free);
/* Queues the answer to a request. Returns 0, -ENOMEM or -EFBIG. */
int http_bodies_answer(HttpBodies *bodies,
                const HttpBodyKind *kind,
                struct MHD_Connection *connection);
