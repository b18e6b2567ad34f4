/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds the comparison of the clocks to a recording that came from a host, for near-stream.c. The
 * last comparison comes after the stream, so it goes into the end frame, which is the last thing in
 * the file: only the file's end is written again. Older readers skip a key that they do not know.
 *
 * The stream may be hostile. The end frame is looked for from the end of the file, in a limited
 * part of it. Its text has no NUL, and each header has some, so the first header that fits is the
 * right one. Does not look at the rest of the stream. */

#include "remote/clock-receipt.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/frame.h"
#include "interfaces/json.h"

#define CLOCK_RECEIPT_KEY "clock"
/* The end frame of ktraced has less than 400 bytes. */
#define CLOCK_RECEIPT_MAX    4096
#define CLOCK_RECEIPT_VALUES 64

/* The last bytes of the file. */
typedef struct ClockTail {
        off_t at;
        size_t size;
        uint8_t bytes[sizeof(FrameHeader) + CLOCK_RECEIPT_MAX];
} ClockTail;

static int clock_tail_read(int fd, ClockTail *tail) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        tail->size = (size_t)MIN_OF(st.st_size, (off_t)sizeof(tail->bytes));
        tail->at = st.st_size - (off_t)tail->size;
        ssize_t n = pread(fd, tail->bytes, tail->size, tail->at);
        return n < 0 ? -errno : (size_t)n < tail->size ? -EIO : 0;
}

/* Returns the place of the end frame, or -ENOMSG. */
static int clock_tail_find_end(const ClockTail *tail) {
        FrameHeader header;
        Reason ignored = {};

        for (int at = (int)tail->size - (int)sizeof(header); at >= 0; at--)
                if (frame_header_decode(tail->bytes + at, &header, &ignored) == 0 &&
                                header.type == FRAME_END &&
                                header.size == tail->size - (size_t)at - sizeof(header))
                        return at;
        return -ENOMSG;
}

static int clock_receipt_add(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

/* The time of day here minus CLOCK_BOOTTIME here. */
static int64_t clock_receipt_get_realtime(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - clock_question_now();
}

/* The error includes both roundings. */
static int clock_receipt_make(const ClockQuestion *question, json_object *end) {
        const ClockTrack *track = &question->track;
        const ClockPoint *last = &track->points[track->n - 1];
        int64_t realtime = clock_receipt_get_realtime(),
                error = clock_track_get_largest_bound(track, CLOCK_KIND_REALTIME),
                offset = last->offsets[CLOCK_KIND_REALTIME] - realtime;
        time_t seconds = (time_t)((last->at + realtime) / 1000000000);
        json_object *clock = json_object_new_object();
        char text[64] = "";
        struct tm tm;

        if (gmtime_r(&seconds, &tm))
                (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
        int r = clock_receipt_add(end, CLOCK_RECEIPT_KEY, clock);
        r = r ?: clock_receipt_add(clock, "offset-usec", json_object_new_int64(offset / 1000));
        r = r ?: clock_receipt_add(clock, "error-usec", json_object_new_int64(error / 1000 + 2));
        r = r ?: clock_receipt_add(clock, "last-compared", json_object_new_string(text));
        return r
                               ?: clock_receipt_add(clock,
                                                  "comparisons",
                                                  json_object_new_uint64(question->n_compared));
}

static int clock_receipt_make_frame(json_object *end, ClockTail *frame) {
        const char *text = json_object_to_json_string_ext(
                        end, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        FrameHeader header = { .type = FRAME_END, .size = text ? strlen(text) : 0 };

        if (!text)
                return -ENOMEM;
        if (header.size > CLOCK_RECEIPT_MAX)
                return -ENOMSG;
        frame_header_encode(frame->bytes, &header);
        memcpy(frame->bytes + sizeof(header), text, header.size);
        frame->size = sizeof(header) + header.size;
        return 0;
}

static int clock_receipt_write(int fd, const uint8_t *bytes, size_t size, off_t at) {
        ssize_t n = pwrite(fd, bytes, size, at);

        if (n < 0)
                return -errno;
        return (size_t)n < size ? -ENOSPC : ftruncate(fd, at + (off_t)size) < 0 ? -errno : 0;
}

int clock_receipt_put(int fd, const ClockQuestion *question) {
        _cleanup_json_ json_object *end = NULL;
        ClockTail tail, frame;
        Reason ignored = {};
        int r = clock_tail_read(fd, &tail), at = r < 0 ? r : clock_tail_find_end(&tail);

        if (at < 0)
                return at;
        size_t size = tail.size - (size_t)at;
        r = json_parse_message("end",
                        (const char *)tail.bytes + at + sizeof(FrameHeader),
                        size - sizeof(FrameHeader),
                        CLOCK_RECEIPT_VALUES,
                        &end,
                        &ignored);
        if (r != 0 || !json_object_is_type(end, json_type_object))
                return r < 0 ? r : -ENOMSG;
        json_object_object_del(end, CLOCK_RECEIPT_KEY);
        r = question->track.n > 0 ? clock_receipt_make(question, end) : 0;
        r = r ?: clock_receipt_make_frame(end, &frame);
        if (r < 0)
                return r;
        r = clock_receipt_write(fd, frame.bytes, frame.size, tail.at + at);
        if (r < 0) /* a full disk: the old frame has its place */
                (void)clock_receipt_write(fd, tail.bytes + at, size, tail.at + at);
        return r;
}
