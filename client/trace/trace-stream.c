/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Loads the index of a .kts file into a Trace: walks the frame headers, remembers where each CPU's
 * data frames are, and parses the other frames. Called by trace_open(). A stream that is cut or
 * damaged after its metadata is read up to its last complete frame. The trace then describes what
 * is missing. */

#include "trace/trace-stream.h"

#include <errno.h>
#include <inttypes.h>

#include "interfaces/cleanup.h"
#include "trace/trace.h"

static void trace_stream_report_missing(Trace *trace,
                uint64_t place,
                const char *where,
                const char *what) {
        snprintf(trace->missing,
                        sizeof(trace->missing),
                        "%s after %" PRIu64 " bytes: %.150s%s%s",
                        where,
                        place,
                        what,
                        trace->stream.statistics ? "" : ", no statistics",
                        trace->stream.is_ended ? "" : ", no end frame");
}

static int load_payload(Trace *trace, uint64_t offset, const FrameHeader *header, Reason *reason) {
        _cleanup_free_ uint8_t *payload = malloc((size_t)header->size + 1);
        int r;

        if (!payload)
                return -ENOMEM;
        r = trace_read(trace, offset, payload, (size_t)header->size);
        if (r <= 0)
                return r < 0 ? r : -EIO;
        r = stream_take(&trace->stream, header, payload, reason);
        if (r == 0 && header->type == FRAME_METADATA && trace->n_buffers == 0)
                r = trace_add_buffer(trace, "", trace->stream.subbuf_size);
        return r;
}

static int load_packed(Trace *trace, TraceChunk *chunk, Reason *reason) {
        uint8_t bytes[sizeof(PackedHeader)] = {};
        PackedHeader packed;
        int r = chunk->size < sizeof(bytes)
                                ? 1
                                : trace_read(trace, chunk->offset, bytes, sizeof(bytes));

        if (r <= 0)
                return r < 0 ? r : -EIO;
        r = packed_header_decode(bytes, chunk->size, &packed, reason);
        if (r != 0)
                return r;
        chunk->offset += sizeof(bytes);
        chunk->size = packed.data_bytes;
        chunk->packed = packed.packed_bytes;
        chunk->n_records = packed.n_records;
        chunk->time = packed.time;
        return 0;
}

static int load_frame(Trace *trace, uint64_t offset, const FrameHeader *header, Reason *reason) {
        TraceChunk chunk = { .offset = offset, .size = header->size, .lost = header->lost };
        int r;

        if (!frame_has_data(header->type))
                return load_payload(trace, offset, header, reason);
        r = stream_expect(&trace->stream, header, reason);
        if (r == 0 && header->type == FRAME_PACKED)
                r = load_packed(trace, &chunk, reason);
        return r != 0 ? r : trace_add_chunk(trace, header->cpu, &chunk);
}

/* Without the metadata nothing can be read. */
static int trace_stream_finish(Trace *trace, uint64_t place, const Reason *why, Reason *reason) {
        trace->whole_size = place;
        if (why)
                trace_stream_report_missing(trace, place, "damaged", why->text);
        if (trace->stream.decode)
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s",
                        why ? why->text
                            : "cut before the end of its metadata, nothing can be read");
}

int trace_load_stream(Trace *trace, Reason *reason) {
        uint8_t bytes[sizeof(FrameHeader)];
        uint64_t place = sizeof(StreamHeader);
        Reason why = { 0 };
        int r;

        r = trace_read(trace, 0, bytes, sizeof(StreamHeader));
        if (r <= 0)
                return r < 0 ? r : trace_stream_finish(trace, 0, NULL, reason);
        r = stream_header_decode(bytes, sizeof(StreamHeader), reason);
        if (r != 0)
                return r;

        while (place < trace->size) {
                uint64_t left = trace->size - place;
                FrameHeader header;

                if (left < sizeof(bytes)) {
                        trace_stream_report_missing(
                                        trace, trace->size, "cut", "in a frame's header");
                        return trace_stream_finish(trace, place, NULL, reason);
                }
                r = trace_read(trace, place, bytes, sizeof(bytes));
                if (r <= 0)
                        return r < 0 ? r : -EIO;
                if (stream_is_header(bytes, sizeof(bytes))) {
                        r = stream_join(&trace->stream, bytes, sizeof(StreamHeader), &why);
                        if (r > 0)
                                return trace_stream_finish(trace, place, &why, reason);
                        place += sizeof(StreamHeader);
                        continue;
                }
                r = frame_header_decode(bytes, &header, &why);
                if (r > 0)
                        return trace_stream_finish(trace, place, &why, reason);
                if (header.size > left - sizeof(bytes)) {
                        char what[32];

                        snprintf(what,
                                        sizeof(what),
                                        "in a %s frame",
                                        stream_frame_name(header.type));
                        trace_stream_report_missing(trace, trace->size, "cut", what);
                        return trace_stream_finish(trace, place, NULL, reason);
                }
                r = load_frame(trace, place + sizeof(bytes), &header, &why);
                if (r > 0)
                        return trace_stream_finish(trace, place, &why, reason);
                if (r < 0)
                        return r;
                place += sizeof(bytes) + header.size;
        }
        if (!trace->stream.is_ended)
                trace_stream_report_missing(trace, place, "cut", "after a whole frame");
        return trace_stream_finish(trace, place, NULL, reason);
}
