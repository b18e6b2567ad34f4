/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps what the HTTP server answers. Each kind of answer is made once per snapshot, when a client
 * first asks for it, and all clients get the same memory. So a thousand scrapes between two
 * snapshots cost as much as the transfer of the text, and none of them shows anything newer.
 *
 * The references of libmicrohttpd keep an old answer while a client still reads it. */

#include "exporter/http-body.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <zlib.h>

/* The fastest level: it makes this text about eight times smaller, the best one ten times. */
#define GZIP_LEVEL  1
#define GZIP_WINDOW (15 + 16) /* 32 KiB; 16 selects gzip's head, see deflateInit2() */
#define GZIP_MEMORY 8

struct HttpBodies {
        Board *board;
        pthread_mutex_t lock;
        MetricSnapshot *snapshot; /* of the answers */
        struct MHD_Response *responses[_TEXT_FORMAT_N][2][2];
};

HttpBodies *http_bodies_new(Board *board) {
        HttpBodies *bodies = calloc(1, sizeof(*bodies));

        if (!bodies)
                return NULL;
        bodies->board = board;
        (void)pthread_mutex_init(&bodies->lock, NULL); /* cannot fail on Linux */
        return bodies;
}

static struct MHD_Response **http_bodies_find(HttpBodies *bodies, const HttpBodyKind *kind) {
        return &bodies->responses[kind->format][kind->has_private][kind->is_gzip];
}

static void http_bodies_clear(HttpBodies *bodies) {
        struct MHD_Response **responses = &bodies->responses[0][0][0];

        for (size_t i = 0; i < sizeof(bodies->responses) / sizeof(*responses); i++) {
                if (responses[i])
                        MHD_destroy_response(responses[i]);
                responses[i] = NULL;
        }
        bodies->snapshot = metric_snapshot_unref(bodies->snapshot);
}

HttpBodies *http_bodies_free(HttpBodies *bodies) {
        if (!bodies)
                return NULL;
        http_bodies_clear(bodies);
        (void)pthread_mutex_destroy(&bodies->lock);
        free(bodies);
        return NULL;
}

static int http_body_compress(TextBlock *text) {
        z_stream stream = {};

        if (deflateInit2(&stream,
                            GZIP_LEVEL,
                            Z_DEFLATED,
                            GZIP_WINDOW,
                            GZIP_MEMORY,
                            Z_DEFAULT_STRATEGY) != Z_OK)
                return -ENOMEM;
        size_t room = deflateBound(&stream, text->used);
        Bytef *packed = malloc(room);
        if (packed) {
                stream.next_in = (Bytef *)text->data;
                stream.avail_in = (uInt)text->used;
                stream.next_out = packed;
                stream.avail_out = (uInt)room;
                (void)deflate(&stream, Z_FINISH); /* room is enough */
                text_block_clear(text);
                *text = (TextBlock){ .data = (char *)packed, .used = room - stream.avail_out };
        }
        (void)deflateEnd(&stream);
        return packed ? 0 : -ENOMEM;
}

static bool http_body_add_headers(struct MHD_Response *response, const HttpBodyKind *kind) {
        bool done = MHD_add_response_header(response,
                                    "Content-Type",
                                    text_format_get_type(kind->format)) == MHD_YES &&
                    MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding") == MHD_YES;

        return done &&
               (!kind->is_gzip || MHD_add_response_header(response, "Content-Encoding", "gzip") ==
                                                  MHD_YES);
}

/* Consumes the text. */
static int http_body_make_response(TextBlock *text,
                const HttpBodyKind *kind,
                struct MHD_Response **ret) {
        struct MHD_Response *response = NULL;
        char *fitting = realloc(text->data, text->used); /* it has grown by doubling */

        if (fitting)
                response = MHD_create_response_from_buffer_with_free_callback(
                                text->used, fitting, free);
        if (!response) {
                free(fitting ?: text->data);
                return -ENOMEM;
        }
        if (!http_body_add_headers(response, kind)) {
                MHD_destroy_response(response);
                return -ENOMEM;
        }
        *ret = response;
        return 0;
}

static int http_body_make(const MetricSnapshot *snapshot,
                const HttpBodyKind *kind,
                struct MHD_Response **ret) {
        TextBlock text = {};
        int r = text_format_print(&text, snapshot, kind->format, kind->has_private);

        /* libmicrohttpd and realloc() want at least one byte. */
        if (r == 0 && text.used == 0)
                text_block_add(&text, "\n", 1);
        if (r == 0 && text.is_short_of_memory)
                r = -ENOMEM;
        if (r == 0 && kind->is_gzip)
                r = http_body_compress(&text);
        if (r < 0) {
                text_block_clear(&text);
                return r;
        }
        return http_body_make_response(&text, kind, ret);
}

/* The caller holds the lock. */
static void http_bodies_renew(HttpBodies *bodies) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *newest = board_get(bodies->board);

        /* Our reference keeps the address from being used by another snapshot. */
        if (newest == bodies->snapshot)
                return;
        http_bodies_clear(bodies);
        bodies->snapshot = TAKE_PTR(newest);
}

int http_bodies_answer(HttpBodies *bodies,
                const HttpBodyKind *kind,
                struct MHD_Connection *connection) {
        int r = 0;

        (void)pthread_mutex_lock(&bodies->lock);
        http_bodies_renew(bodies);
        struct MHD_Response **response = http_bodies_find(bodies, kind);
        if (!*response)
                r = http_body_make(bodies->snapshot, kind, response);
        /* With the lock, because it takes the reference. */
        if (r == 0 && MHD_queue_response(connection, MHD_HTTP_OK, *response) != MHD_YES)
                r = -ENOMEM;
        (void)pthread_mutex_unlock(&bodies->lock);
        return r;
}
