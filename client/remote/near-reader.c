/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the stream that the far side of -H sends, in a process that can do no harm (isolation.h):
 * the far side may be hostile, and the formats of its events are parsed here. The process prints
 * the stream or copies it, and blocks when its reader is stuck; near-stream.c notices that by its
 * full pipe. It ends with its pipe. Its result comes in memory that both processes share, and is
 * taken as text of the far side. Owns the process and the memory. */

#include "remote/near-reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export/export-live.h"
#include "recording/isolation.h"
#include "terminal/message.h"

#define NEAR_READER_SIZE       (64 * 1024)
#define NEAR_READER_QUIET_MSEC 8 /* as in pipe-transfer.c */

struct NearReader {
        pid_t pid; /* 0: it has ended */
        Output *output;
        int stream_fd;
        NearResult *shared;
        /* In the process. */
        int out_fd;
        bool is_clean, is_open; /* see message_clean_lines */
};

static ssize_t near_reader_print(void *userdata, const char *data, size_t size) {
        NearReader *reader = userdata;
        size_t done = 0;

        if (reader->is_clean)
                message_clean_lines((char *)data, size, &reader->is_open);
        while (done < size) {
                ssize_t n = write(reader->out_fd, data + done, size - done);

                if (n < 0 && errno != EINTR)
                        return 0;
                done += n > 0 ? (size_t)n : 0;
        }
        return (ssize_t)size;
}

/* Waits for bytes, and prints what can be printed while none come. */
static int near_reader_await(const NearReader *reader, LiveExport *live) {
        struct pollfd pollfd = { .fd = reader->stream_fd, .events = POLLIN };

        if (poll(&pollfd, 1, NEAR_READER_QUIET_MSEC) != 0)
                return 0;
        return live_export_flush(live);
}

static int near_reader_copy(const NearReader *reader, LiveExport *live, Reason *reason) {
        static uint8_t buffer[NEAR_READER_SIZE];

        for (;;) {
                int r = near_reader_await(reader, live);
                ssize_t n;

                if (r < 0)
                        return r;
                n = read(reader->stream_fd, buffer, sizeof(buffer));
                if (n == 0)
                        return 0;
                if (n < 0 && errno == EINTR)
                        continue;
                r = n < 0 ? -errno : live_export_feed(live, buffer, (size_t)n, reason);
                if (r != 0)
                        return r;
        }
}

static int near_reader_get_sink_fd(const NearReader *reader) {
        int fd = output_get_sink_fd(reader->output);

        return fd >= 0 ? fd : output_get_fd(reader->output);
}

static int near_reader_read(NearReader *reader, ExportSummary *summary, Reason *reason) {
        static const cookie_io_functions_t functions = { .write = near_reader_print };
        int sink_fd = output_get_sink_fd(reader->output);
        ExportFormat format = sink_fd >= 0 ? EXPORT_KTS : output_get_format(reader->output);
        _cleanup_(live_export_free_cleanup) LiveExport *live = NULL;
        FILE *out = fopencookie(reader, "w", functions);
        int r;

        if (!out)
                return -ENOMEM;
        (void)setvbuf(out, NULL, _IOFBF, NEAR_READER_SIZE);
        reader->out_fd = near_reader_get_sink_fd(reader);
        reader->is_clean = format != EXPORT_KTS && isatty(reader->out_fd);
        r = live_export_new(format, out, &live);
        if (r < 0)
                return r;
        live_export_set_names(live, reader->is_clean);
        if (sink_fd < 0) {
                live_export_set_cpus(live, output_get_cpus(reader->output));
                live_export_set_calls(live, output_get_calls(reader->output));
        }
        r = isolation_seal(reason);
        r = r ?: near_reader_copy(reader, live, reason);
        if (r == 0)
                r = live_export_finish(live, summary, reason);
        if (fflush(out) != 0)
                r = r ?: -errno;
        return r;
}

/* The connections to hosts must not stay open here: neither may a stream that has taken over this
 * process write to them, nor may a pipe of another stream lack its end. */
static void near_reader_close_others(const NearReader *reader) {
        int first = reader->stream_fd, second = near_reader_get_sink_fd(reader);

        if (first > second) {
                first = second;
                second = reader->stream_fd;
        }
        if (first > STDERR_FILENO + 1)
                (void)close_range(STDERR_FILENO + 1, (unsigned)first - 1, 0);
        if (second > MAX_OF(first, STDERR_FILENO) + 1)
                (void)close_range((unsigned)MAX_OF(first, STDERR_FILENO) + 1,
                                (unsigned)second - 1,
                                0);
        (void)close_range((unsigned)second + 1, ~0U, 0);
}

/* In the isolated process. */
static int near_reader_work(void *argument) {
        NearReader *reader = argument;
        NearResult *shared = reader->shared;
        ExportSummary summary = {};

        near_reader_close_others(reader);
        shared->code = near_reader_read(reader, &summary, &shared->reason);
        shared->n_events = summary.n_events;
        shared->n_lost = summary.n_lost;
        shared->complete = summary.complete;
        memcpy(shared->missing, summary.missing, sizeof(shared->missing));
        return KT_EXIT_OK;
}

int near_reader_new(Output *output, int stream_fd, NearReader **ret) {
        _cleanup_(near_reader_free_cleanup) NearReader *reader = calloc(1, sizeof(*reader));
        void *shared = mmap(NULL,
                        sizeof(NearResult),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS,
                        -1,
                        0);

        if (reader)
                reader->shared = shared == MAP_FAILED ? NULL : shared;
        if (!reader || !reader->shared)
                return -ENOMEM;
        reader->output = output;
        reader->stream_fd = stream_fd;
        if (isolation_start(output_get_name(output), near_reader_work, reader, &reader->pid) !=
                        KT_EXIT_OK)
                return -EAGAIN; /* reported */
        *ret = TAKE_PTR(reader);
        return 0;
}

NearReader *near_reader_free(NearReader *reader) {
        if (!reader)
                return NULL;
        if (reader->pid > 0)
                isolation_stop(reader->pid);
        if (reader->shared)
                (void)munmap(reader->shared, sizeof(*reader->shared));
        free(reader);
        return NULL;
}

pid_t near_reader_get_pid(const NearReader *reader) {
        return reader->pid;
}

void near_reader_finish(NearReader *reader, bool has_exited, NearResult *ret) {
        const NearResult *shared = reader->shared;
        unsigned char complete;

        reader->pid = 0;
        memcpy(ret, shared, offsetof(NearResult, complete));
        /* A hostile process may have put another number there than a bool can have. */
        memcpy(&complete, &shared->complete, 1);
        ret->complete = complete == 1;
        memcpy(ret->missing, shared->missing, sizeof(ret->missing));
        ret->missing[sizeof(ret->missing) - 1] = '\0';
        ret->reason.text[sizeof(ret->reason.text) - 1] = '\0';
        if (!has_exited)
                ret->code = reason_set(&ret->reason,
                                KT_E_FAILED,
                                "the process that read it was ended: expected a stream, got a damaged or "
                                "hostile one");
}
