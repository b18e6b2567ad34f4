/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the packets of a CTF stream file. Called by export-ctf.c, one stream for each CPU of each
 * buffer. Owns the packet that is being filled. ctf-metadata.c describes the layout of the header;
 * both must agree.
 *
 * Readers report lost events between two packets, when the second has a larger events_discarded. So
 * a loss ends the packet, and an empty packet at the time of the loss has the new number. */

#include "ctf/ctf-stream.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "ctf/part.h"

#define CTF_MAGIC   UINT32_C(0xc1fc1fc1)
#define PACKET_SIZE ((size_t)128 * 1024)
/* The fixed part of the header, before the name of the instance. */
#define HEADER_SIZE 60

CtfStream *ctf_stream_new(uint32_t part, uint32_t cpu, const char *instance) {
        CtfStream *stream = calloc(1, sizeof(*stream));

        if (stream)
                *stream = (CtfStream){ .part = part, .cpu = cpu, .instance = instance };
        return stream;
}

CtfStream *ctf_stream_free(CtfStream *stream) {
        if (!stream)
                return NULL;
        text_block_clear(&stream->packet);
        free(stream);
        return NULL;
}

static size_t ctf_stream_get_header_size(const CtfStream *stream) {
        return HEADER_SIZE + (stream->instance ? strlen(stream->instance) + 1 : 0);
}

static void put32(uint8_t **p, uint32_t number) {
        number = htole32(number);
        memcpy(*p, &number, sizeof(number));
        *p += sizeof(number);
}

static void put64(uint8_t **p, uint64_t number) {
        number = htole64(number);
        memcpy(*p, &number, sizeof(number));
        *p += sizeof(number);
}

/* Fills the room at the start of the packet. */
static void ctf_stream_put_header(CtfStream *stream) {
        uint64_t n_bits = (uint64_t)stream->packet.used * 8;
        uint8_t *p = (uint8_t *)stream->packet.data;

        put32(&p, CTF_MAGIC);
        put32(&p, 0); /* stream_id */
        put64(&p, stream->begin);
        put64(&p, stream->end);
        put64(&p, n_bits); /* content_size */
        put64(&p, n_bits); /* packet_size */
        put64(&p, stream->n_packets);
        put64(&p, stream->n_discarded);
        put32(&p, stream->cpu);
        if (stream->instance)
                memcpy(p, stream->instance, strlen(stream->instance) + 1);
}

static int ctf_stream_write(CtfStream *stream, FILE *out) {
        ctf_stream_put_header(stream);
        int r = part_write(out, stream->part, stream->packet.data, stream->packet.used);
        stream->packet.used = 0;
        stream->n_packets++;
        return r;
}

/* Begins a packet at ts, unless one is being filled. Readers reject a stream whose times go back or
 * are too large, which only a damaged recording has. */
static int ctf_stream_open(CtfStream *stream, uint64_t *ts) {
        size_t size = ctf_stream_get_header_size(stream);

        *ts = MIN_OF(MAX_OF(*ts, stream->end), CTF_TIME_MAX);
        if (stream->packet.used > 0)
                return 0;
        if (!text_block_reserve(&stream->packet, size))
                return -ENOMEM;
        stream->packet.used = size;
        stream->begin = stream->end = *ts;
        return 0;
}

int ctf_stream_flush(CtfStream *stream, FILE *out) {
        return stream->packet.used > 0 ? ctf_stream_write(stream, out) : 0;
}

int ctf_stream_begin_event(CtfStream *stream,
                uint64_t ts,
                size_t size_max,
                FILE *out,
                uint64_t *ret_ts) {
        int r = stream->packet.used >= PACKET_SIZE ? ctf_stream_write(stream, out) : 0;

        r = r ?: ctf_stream_open(stream, &ts);
        if (r < 0)
                return r;
        if (!text_block_reserve(&stream->packet, size_max))
                return -ENOMEM;
        *ret_ts = stream->end = ts;
        return 0;
}

int ctf_stream_discard(CtfStream *stream, uint64_t ts, uint64_t n_lost, FILE *out) {
        int r = ctf_stream_flush(stream, out);

        /* Readers compare with the packet before. The first one needs a packet without losses. */
        if (r == 0 && stream->n_packets == 0) {
                r = ctf_stream_open(stream, &ts);
                r = r ?: ctf_stream_write(stream, out);
        }
        r = r ?: ctf_stream_open(stream, &ts);
        if (r < 0)
                return r;
        stream->n_discarded += n_lost;
        return ctf_stream_write(stream, out);
}
