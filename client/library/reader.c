/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Readers of the library: a recording in a file (trace.h), or a stream that arrives through a pipe
 * (live-trace.h). A stream gives its records to callbacks, so they go through a queue.
 *
 * A stream's records are held back until no older one can arrive. When no data comes for some
 * milliseconds, all are due: callers that poll learn when from ktrace_reader_get_timeout(). */

#include "library/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "library/connection.h"
#include "library/failure.h"
#include "trace/receipt.h"

#define READ_SIZE  ((size_t)64 * 1024)
#define QUIET_USEC UINT64_C(8000)

static uint64_t reader_now_usec(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* The records of a stream */

static int reader_on_begin(Decode *decode, void *userdata, Reason *reason _unused_) {
        ktrace_reader *reader = userdata;

        reader->decode = decode;
        return 0;
}

static int reader_on_record(const Record *record, void *userdata) {
        ktrace_reader *reader = userdata;
        QueuedRecord queued = {
                .kind = KTRACE_EVENT, .ts = record->ts, .cpu = record->cpu, .size = record->size
        };
        const char *task = decode_command(reader->decode, decode_record_pid(record));

        memcpy(queued.task, task, strnlen(task, sizeof(queued.task) - 1));
        return record_queue_add(&reader->queue, &queued, record->data);
}

static int reader_on_loss(const Record *at, int64_t lost, void *userdata) {
        ktrace_reader *reader = userdata;

        return record_queue_add(&reader->queue,
                        &(QueuedRecord){ .kind = KTRACE_LOST,
                                        .ts = at->ts,
                                        .cpu = at->cpu,
                                        .lost = lost },
                        NULL);
}

static int reader_on_late(uint32_t cpu, void *userdata) {
        ktrace_reader *reader = userdata;

        return record_queue_add(
                        &reader->queue, &(QueuedRecord){ .kind = KTRACE_LATE, .cpu = cpu }, NULL);
}

static const LiveReader reader_callbacks = { .begin = reader_on_begin,
        .record = reader_on_record,
        .loss = reader_on_loss,
        .late = reader_on_late };

/* Opening */

static int reader_open_source(ktrace_reader *reader, Reason *reason) {
        struct stat st;

        if (fstat(reader->fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode))
                return live_trace_new(&reader_callbacks, reader, false, &reader->live);
        int r = trace_open(reader->fd, false, NULL, &reader->trace, reason);
        if (r == 0)
                reader->decode = reader->trace->decode;
        return r == KT_E_FAILED ? KT_E_INVALID_SPEC : r; /* the file is none, or is damaged */
}

/* Consumes fd. */
static int reader_new(int fd, ktrace_reader **ret, Reason *reason) {
        ktrace_reader *reader = calloc(1, sizeof(*reader));

        if (!reader) {
                close(fd);
                return -ENOMEM;
        }
        *reader = (ktrace_reader){ .fd = fd, .quiet_usec = UINT64_MAX };
        reader->record.reader = reader;
        int r = reader_open_source(reader, reason);
        if (r != 0)
                ktrace_reader_free(reader);
        else
                *ret = reader;
        return r;
}

int ktrace_reader_open(const char *path, ktrace_reader **ret, ktrace_error *error) {
        Reason reason = {};
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        *ret = NULL;
        int r = fd < 0 ? -errno : reader_new(fd, ret, &reason);
        return failure_take(r, &reason, error);
}

int ktrace_reader_open_fd(int fd, ktrace_reader **ret, ktrace_error *error) {
        Reason reason = {};
        int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

        *ret = NULL;
        int r = own < 0 ? -errno : reader_new(own, ret, &reason);
        return failure_take(r, &reason, error);
}

void ktrace_reader_free(ktrace_reader *reader) {
        if (!reader)
                return;
        trace_close(reader->trace);
        live_trace_free(reader->live);
        record_queue_clear(&reader->queue);
        for (size_t i = 0; i < reader->n_fields; i++)
                free(reader->fields[i]);
        free(reader->fields);
        text_block_clear(&reader->text);
        text_block_clear(&reader->slow);
        close(reader->fd);
        free(reader);
}

int ktrace_reader_get_fd(const ktrace_reader *reader) {
        return reader->live ? reader->fd : -EOPNOTSUPP;
}

uint64_t ktrace_reader_get_timeout(const ktrace_reader *reader) {
        if (!reader->live || !record_queue_is_empty(&reader->queue))
                return 0;
        if (reader->quiet_usec == UINT64_MAX)
                return UINT64_MAX;
        uint64_t now = reader_now_usec();
        return reader->quiet_usec - MIN_OF(reader->quiet_usec, now);
}

/* Records */

static void reader_set_event(ktrace_reader *reader, const Record *record) {
        ktrace_record *to = &reader->record;

        to->kind = KTRACE_EVENT;
        to->record = *record;
        to->lost = 0;
        to->task = NULL;
        to->instance = "";
        to->layout = decode_find(reader->decode, record);
        to->is_whole = to->layout && event_layout_fits(to->layout, record->data, record->size);
}

static void reader_set_other(ktrace_reader *reader,
                ktrace_record_kind kind,
                const Record *at,
                int64_t lost) {
        reader->record = (ktrace_record){ .reader = reader,
                .kind = kind,
                .record = { .ts = at->ts, .cpu = at->cpu },
                .lost = lost,
                .task = "",
                .instance = "" };
}

static int reader_next_of_file(ktrace_reader *reader) {
        TraceItem item;

        int r = trace_next(reader->trace, &item);
        if (r < 0 || item.kind == TRACE_END)
                return r;
        if (item.kind == TRACE_RECORD)
                reader_set_event(reader, &item.record);
        else
                reader_set_other(reader, KTRACE_LOST, &item.record, item.lost);
        reader->record.instance = item.buffer->name;
        return 1;
}

static bool reader_take_queued(ktrace_reader *reader) {
        const uint8_t *data;
        const QueuedRecord *queued = record_queue_take(&reader->queue, &data);

        if (!queued)
                return false;
        Record record = {
                .ts = queued->ts, .data = data, .size = queued->size, .cpu = queued->cpu
        };
        if (queued->kind == KTRACE_EVENT) {
                reader_set_event(reader, &record);
                reader->record.task = queued->task;
        } else
                reader_set_other(reader, queued->kind, &record, queued->lost);
        return true;
}

static int reader_feed(ktrace_reader *reader, Reason *reason) {
        uint8_t buffer[READ_SIZE];
        ssize_t n = read(reader->fd, buffer, sizeof(buffer));

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (n == 0) {
                reader->is_at_end = true;
                reader->quiet_usec = UINT64_MAX;
                return live_trace_finish(reader->live);
        }
        reader->quiet_usec = reader_now_usec() + QUIET_USEC;
        int r = live_trace_feed(reader->live, buffer, (size_t)n, reason);
        return r > 0 ? -EBADMSG : r;
}

/* Waits for data until `until_usec` or until the records that wait are due. Returns -EAGAIN after
 * until_usec. */
static int reader_wait(ktrace_reader *reader, uint64_t until_usec, Reason *reason) {
        struct pollfd wait = { .fd = reader->fd, .events = POLLIN };
        uint64_t end = MIN_OF(until_usec, reader->quiet_usec), now = reader_now_usec(),
                 left = end - MIN_OF(end, now);
        struct timespec timeout = { .tv_sec = (time_t)(left / 1000000),
                .tv_nsec = (long)(left % 1000000 * 1000) };

        int r = ppoll(&wait, 1, end == UINT64_MAX ? NULL : &timeout, NULL);
        if (r < 0)
                return errno == EINTR ? 0 : -errno;
        if (r > 0)
                return reader_feed(reader, reason);
        now = reader_now_usec();
        if (now >= reader->quiet_usec) {
                reader->quiet_usec = UINT64_MAX;
                return live_trace_flush(reader->live);
        }
        return now >= until_usec ? -EAGAIN : 0;
}

static int reader_next_of_stream(ktrace_reader *reader, uint64_t timeout_usec, Reason *reason) {
        uint64_t now = reader_now_usec();
        uint64_t until = timeout_usec > UINT64_MAX - now ? UINT64_MAX : now + timeout_usec;

        while (!reader_take_queued(reader)) {
                if (reader->is_at_end)
                        return 0;
                int r = reader_wait(reader, until, reason);
                if (r != 0 && (r != -EAGAIN || record_queue_is_empty(&reader->queue)))
                        return r;
        }
        return 1;
}

int ktrace_reader_next(ktrace_reader *reader,
                uint64_t timeout_usec,
                const ktrace_record **ret,
                ktrace_error *error) {
        Reason reason = {};

        int r = reader->trace ? reader_next_of_file(reader)
                              : reader_next_of_stream(reader, timeout_usec, &reason);
        *ret = r == 1 ? &reader->record : NULL;
        return r == 1 ? 1 : failure_take(r, &reason, error);
}

int reader_await_events(ktrace_reader *reader, Reason *reason) {
        int r = 0;

        while (r == 0 && !reader->decode && !reader->is_at_end)
                r = reader_wait(reader, UINT64_MAX, reason);
        return r;
}

/* What is not a record */

static const Stream *reader_get_stream(const ktrace_reader *reader) {
        return reader->trace ? &reader->trace->stream : live_trace_get_stream(reader->live);
}

int ktrace_reader_get_end(const ktrace_reader *reader, char **ret) {
        const Stream *stream = reader_get_stream(reader);
        _cleanup_json_ json_object *end = NULL;

        *ret = NULL;
        if (!stream->is_ended)
                return -ENODATA;
        int r = proxy_make_object("code", json_object_new_string(stream->end_code), &end);
        if (r < 0)
                return r;
        if (json_object_object_add(end, "reason", json_object_new_string(stream->end_reason)) < 0)
                return -ENOMEM;
        return connection_print(end, ret);
}

int ktrace_reader_get_receipt(const ktrace_reader *reader, char **ret) {
        _cleanup_json_ json_object *receipt = NULL;

        *ret = NULL;
        if (!reader->decode)
                return -ENODATA;
        int r = receipt_make(reader_get_stream(reader), true, &receipt);
        if (r < 0)
                return r;
        return receipt ? connection_print(receipt, ret) : -ENODATA;
}

int ktrace_reader_get_realtime(const ktrace_reader *reader, uint64_t time, int64_t *ret) {
        if (!reader->decode || !reader->decode->has_wall)
                return -ENODATA;
        *ret = (int64_t)(time + (uint64_t)reader->decode->wall_offset_ns);
        return 0;
}

/* Fields */

static int reader_grow_fields(ktrace_reader *reader, size_t n) {
        ktrace_field **fields = reallocarray(reader->fields, n, sizeof(ktrace_field *));

        if (!fields)
                return -ENOMEM;
        memset(fields + reader->n_fields, 0, (n - reader->n_fields) * sizeof(ktrace_field *));
        reader->fields = fields;
        reader->n_fields = n;
        return 0;
}

const ktrace_field *reader_get_fields(ktrace_reader *reader, const EventLayout *layout) {
        size_t id = (size_t)layout->event->id;

        if (id >= reader->n_fields && reader_grow_fields(reader, id + 1) < 0)
                return NULL;
        if (!reader->fields[id]) {
                ktrace_field *fields = calloc(layout->n_fields + 1, sizeof(*fields));

                if (!fields)
                        return NULL;
                for (size_t i = 0; i < layout->n_fields; i++)
                        fields[i] = (ktrace_field){ layout, &layout->fields[i] };
                reader->fields[id] = fields;
        }
        return reader->fields[id];
}

const EventLayout *reader_find_event(const ktrace_reader *reader, const char *event) {
        const char *colon = strchr(event, ':');

        for (size_t i = 0; colon && i < reader->decode->n_layouts; i++) {
                const EventLayout *layout = reader->decode->layouts[i];
                size_t size = (size_t)(colon - event);

                if (layout && strcmp(layout->event->name, colon + 1) == 0 &&
                                strlen(layout->event->system) == size &&
                                memcmp(layout->event->system, event, size) == 0)
                        return layout;
        }
        return NULL;
}

int ktrace_reader_find_field(ktrace_reader *reader,
                const char *event,
                const char *field,
                const ktrace_field **ret) {
        const EventLayout *layout;

        *ret = NULL;
        if (!reader->decode)
                return -EAGAIN;
        layout = reader_find_event(reader, event);
        if (!layout)
                return -ENOENT;
        const ktrace_field *fields = reader_get_fields(reader, layout);
        if (!fields)
                return -ENOMEM;
        const EventLayoutField *found = event_layout_find_field(layout, field);
        if (!found)
                return -ENOENT;
        *ret = &fields[found - layout->fields];
        return 0;
}
