/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts the events of a .kts file that another process has just written, to report them. It
 * walks over the records once and decodes nothing. Called by transfer.c for snapshots. It skips the
 * names of tasks, which are as large as a small trace. */

#include "export/export-count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "interfaces/cleanup.h"
#include "trace/stream.h"
#include "trace/subbuf.h"

typedef struct Count {
        int fd;
        bool with_events;
        uint64_t place;
        Stream stream;
        uint8_t *buffer; /* one sub-buffer */
        ExportSummary *summary;
} Count;

/* Returns 1, or 0 if the file ends earlier. */
static int export_count_read_at(const Count *count, uint64_t place, void *data, size_t size) {
        size_t done = 0;

        while (done < size) {
                ssize_t n = pread(count->fd,
                                (uint8_t *)data + done,
                                size - done,
                                (off_t)(place + done));

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        return 0;
                done += n < 0 ? 0 : (size_t)n;
        }
        return 1;
}

static void count_subbuf(Count *count, size_t size) {
        const uint8_t *data;
        uint32_t record_size;
        int64_t missed;
        Subbuf walk;
        uint64_t ts;

        subbuf_open(&walk, count->buffer, size, count->stream.decode->long_size, &missed);
        while (subbuf_next(&walk, &data, &record_size, &ts))
                count->summary->n_events++;
}

static int count_packed(Count *count, const FrameHeader *header, Reason *reason) {
        uint8_t bytes[sizeof(PackedHeader)] = {};
        PackedHeader packed;

        int r = export_count_read_at(
                        count, count->place, bytes, MIN_OF(sizeof(bytes), (size_t)header->size));
        if (r <= 0)
                return r;
        r = packed_header_decode(bytes, header->size, &packed, reason);
        if (r != 0)
                return 0;
        count->summary->n_lost += header->lost;
        count->summary->n_events += count->with_events ? packed.n_records : 0;
        return 1;
}

static int count_data(Count *count, const FrameHeader *header) {
        size_t subbuf_size = count->stream.subbuf_size;

        count->summary->n_lost += header->lost;
        for (uint64_t at = 0; count->with_events && at < header->size; at += subbuf_size) {
                size_t size = (size_t)MIN_OF(header->size - at, (uint64_t)subbuf_size);

                int r = export_count_read_at(count, count->place + at, count->buffer, size);
                if (r <= 0)
                        return r;
                count_subbuf(count, size);
        }
        return 1;
}

static int export_count_take_frame(Count *count, const FrameHeader *header, Reason *reason) {
        _cleanup_free_ uint8_t *payload = NULL;

        int r = stream_expect(&count->stream, header, reason);
        if (r != 0 || header->type == FRAME_COMMANDS)
                return r < 0 ? r : r == 0;
        if (header->type == FRAME_DATA)
                return count_data(count, header);
        if (header->type == FRAME_PACKED)
                return count_packed(count, header, reason);
        payload = malloc((size_t)header->size + 1);
        if (!payload)
                return -ENOMEM;
        r = export_count_read_at(count, count->place, payload, (size_t)header->size);
        if (r <= 0)
                return r;
        r = stream_take(&count->stream, header, payload, reason);
        if (r == 0 && header->type == FRAME_METADATA) {
                count->buffer = malloc(count->stream.subbuf_size);
                return count->buffer ? 1 : -ENOMEM;
        }
        return r < 0 ? r : r == 0;
}

static int count_frames(Count *count, Reason *reason) {
        uint8_t head[sizeof(FrameHeader)];
        FrameHeader header;

        int r = export_count_read_at(count, 0, head, sizeof(StreamHeader));
        if (r > 0 && stream_header_decode(head, sizeof(StreamHeader), reason) != 0)
                return 0;
        count->place = sizeof(StreamHeader);
        while (r > 0 && !count->stream.is_ended) {
                r = export_count_read_at(count, count->place, head, sizeof(head));
                if (r > 0 && frame_header_decode(head, &header, reason) != 0)
                        return 0;
                count->place += sizeof(head);
                r = r > 0 ? export_count_take_frame(count, &header, reason) : r;
                count->place += header.size;
        }
        return MIN_OF(r, 0);
}

int export_count(int fd, bool with_events, ExportSummary *ret) {
        Count count = { .fd = fd, .with_events = with_events, .summary = ret };
        Reason reason = {};

        *ret = (ExportSummary){};
        stream_init(&count.stream, false);
        int r = count_frames(&count, &reason);
        ret->complete = count.stream.is_ended;
        ret->n_lost = MAX_OF(ret->n_lost, stream_count_lost(&count.stream));
        if (!ret->complete)
                snprintf(ret->missing,
                                sizeof(ret->missing),
                                "%.255s",
                                reason.text[0] ? reason.text : "it ends too early");
        memcpy(ret->end_code, count.stream.end_code, sizeof(ret->end_code));
        memcpy(ret->end_reason, count.stream.end_reason, sizeof(ret->end_reason));
        stream_clear(&count.stream);
        free(count.buffer);
        return r;
}
