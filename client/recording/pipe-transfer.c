/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves a live stream from the daemon's pipe through LiveExport to standard output, a pipe or a
 * file. The exporter prints into memory, and this file writes it out at the reader's speed. A stuck
 * reader blocks nothing else: the transfer stops reading, the kernel drops and counts events, and
 * ^C still works.
 *
 * A shared descriptor must not be set to O_NONBLOCK. So it relies on POLLOUT: a pipe that
 * reports it accepts PIPE_BUF bytes without blocking (pipe(7)). Regular files are never pollable
 * (epoll: EPERM) and never block for long. Owns the source, the exporter and the data not yet
 * written; not the output. */

#include "recording/pipe-transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "export/export-live.h"
#include "terminal/message.h"

#define PIPE_TRANSFER_READ_SIZE (64 * 1024)
/* The consumer writes the data of all CPUs together. */
#define PIPE_TRANSFER_FLUSH_USEC      ((uint64_t)8 * 1000)
#define PIPE_TRANSFER_ACCURACY_USEC   ((uint64_t)1000) /* 0 would mean 250 ms */
#define PIPE_TRANSFER_WRITES_PER_TURN 64               /* then other event sources run */

struct PipeTransfer {
        int source_fd;
        int out_fd;
        bool pollable;
        bool is_own;         /* the output is not shared: it is non-blocking */
        bool clean, is_open; /* state of message_clean_lines */
        bool draining;
        bool ended; /* the source has ended and the exporter has finished */
        LiveExport *live;
        FILE *memory;
        char *pending; /* its first `written` bytes are written */
        size_t n_pending, n_allocated, written;
        ExportSummary summary;
        sd_event_source *source, *out, *timer;
        PipeTransferHandlers handlers;
        void *userdata;
        uint8_t buffer[PIPE_TRANSFER_READ_SIZE];
};

static ssize_t on_print(void *userdata, const char *data, size_t size) {
        PipeTransfer *transfer = userdata;

        if (transfer->n_pending + size > transfer->n_allocated) {
                size_t wanted = (transfer->n_pending + size) * 2;
                char *grown = realloc(transfer->pending, wanted);

                if (!grown) {
                        errno = ENOMEM;
                        return 0;
                }
                transfer->pending = grown;
                transfer->n_allocated = wanted;
        }
        memcpy(transfer->pending + transfer->n_pending, data, size);
        /* Names and arguments of traced programs may contain control characters. */
        if (transfer->clean)
                message_clean_lines(
                                transfer->pending + transfer->n_pending, size, &transfer->is_open);
        transfer->n_pending += size;
        return (ssize_t)size;
}

static void pipe_transfer_done(PipeTransfer *transfer, int result, const Reason *reason) {
        transfer->source = sd_event_source_disable_unref(transfer->source);
        transfer->out = sd_event_source_disable_unref(transfer->out);
        transfer->timer = sd_event_source_disable_unref(transfer->timer);
        /* Closing the pipe here shows the consumer at once that its reader is gone. */
        if (transfer->source_fd >= 0)
                close(TAKE_FD(transfer->source_fd));
        transfer->handlers.on_done(transfer, result, reason, transfer->userdata);
}

static bool pipe_transfer_may_write(const PipeTransfer *transfer) {
        struct pollfd pollfd = { .fd = transfer->out_fd, .events = POLLOUT };

        return !transfer->pollable || transfer->is_own || poll(&pollfd, 1, 0) != 0;
}

/* Writes as much as the reader accepts now. -EAGAIN: data is left. */
static int pipe_transfer_write(PipeTransfer *transfer) {
        for (int turn = 0; transfer->written < transfer->n_pending; turn++) {
                size_t left = transfer->n_pending - transfer->written;
                ssize_t n;

                if (turn == PIPE_TRANSFER_WRITES_PER_TURN || !pipe_transfer_may_write(transfer))
                        return -EAGAIN;
                n = write(transfer->out_fd,
                                transfer->pending + transfer->written,
                                transfer->pollable && !transfer->is_own
                                                ? MIN_OF(left, (size_t)PIPE_BUF)
                                                : left);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return -EAGAIN;
                if (n < 0)
                        return -errno;
                transfer->written += (size_t)n;
        }
        transfer->n_pending = transfer->written = 0;
        return 0;
}

/* Call it after anything was printed: continues to read, or first waits for the reader. */
static void pipe_transfer_advance(PipeTransfer *transfer) {
        bool waiting;
        int r;

        if (fflush(transfer->memory) != 0) {
                pipe_transfer_done(transfer, -ENOMEM, NULL);
                return;
        }
        r = pipe_transfer_write(transfer);
        waiting = r == -EAGAIN;
        if (r < 0 && !waiting) {
                pipe_transfer_done(transfer, r, NULL);
                return;
        }
        if (transfer->ended && !waiting) {
                pipe_transfer_done(transfer, 0, NULL);
                return;
        }
        if (transfer->out)
                (void)sd_event_source_set_enabled(
                                transfer->out, waiting ? SD_EVENT_ON : SD_EVENT_OFF);
        if (!transfer->ended)
                (void)sd_event_source_set_enabled(transfer->source,
                                waiting && !transfer->draining ? SD_EVENT_OFF : SD_EVENT_ON);
}

void pipe_transfer_hold(PipeTransfer *transfer) {
        (void)sd_event_source_set_enabled(transfer->source, SD_EVENT_OFF);
}

void pipe_transfer_continue(PipeTransfer *transfer) {
        if (transfer->source && !transfer->ended)
                (void)sd_event_source_set_enabled(transfer->source, SD_EVENT_ON);
}

void pipe_transfer_drain(PipeTransfer *transfer) {
        transfer->draining = true;
        if (transfer->source && !transfer->ended)
                (void)sd_event_source_set_enabled(transfer->source, SD_EVENT_ON);
}

static int on_writable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        pipe_transfer_advance(userdata);
        return 0;
}

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata) {
        PipeTransfer *transfer = userdata;

        /* Nothing more is printed for a stuck reader. */
        if (transfer->n_pending > 0 || live_export_flush(transfer->live) < 0)
                return 0;
        pipe_transfer_advance(transfer);
        return 0;
}

static void pipe_transfer_end(PipeTransfer *transfer) {
        Reason reason = {};
        int r = live_export_finish(transfer->live, &transfer->summary, &reason);

        if (r != 0) {
                pipe_transfer_done(transfer, r, &reason);
                return;
        }
        transfer->ended = true;
        (void)sd_event_source_set_enabled(transfer->source, SD_EVENT_OFF);
        (void)sd_event_source_set_enabled(transfer->timer, SD_EVENT_OFF);
        pipe_transfer_advance(transfer);
}

void pipe_transfer_hang_up(PipeTransfer *transfer) {
        if (!transfer->ended)
                pipe_transfer_end(transfer);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        PipeTransfer *transfer = userdata;
        Reason reason = {};
        ssize_t n = read(fd, transfer->buffer, sizeof(transfer->buffer));
        int r;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n < 0) {
                pipe_transfer_done(transfer, -errno, NULL);
                return 0;
        }
        if (n == 0) {
                pipe_transfer_end(transfer);
                return 0;
        }
        r = live_export_feed(transfer->live, transfer->buffer, (size_t)n, &reason);
        if (r != 0) {
                pipe_transfer_done(transfer, r, &reason);
                return 0;
        }
        (void)sd_event_source_set_time_relative(transfer->timer, PIPE_TRANSFER_FLUSH_USEC);
        (void)sd_event_source_set_enabled(transfer->timer, SD_EVENT_ONESHOT);
        pipe_transfer_advance(transfer);
        return 0;
}

static int pipe_transfer_add_sources(PipeTransfer *transfer, sd_event *event) {
        int r = sd_event_add_io(
                        event, &transfer->out, transfer->out_fd, EPOLLOUT, on_writable, transfer);

        transfer->pollable = r != -EPERM;
        if (r < 0 && r != -EPERM)
                return r;
        if (transfer->out)
                (void)sd_event_source_set_enabled(transfer->out, SD_EVENT_OFF);
        r = sd_event_add_io(event,
                        &transfer->source,
                        transfer->source_fd,
                        EPOLLIN,
                        on_readable,
                        transfer);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(event,
                        &transfer->timer,
                        CLOCK_MONOTONIC,
                        PIPE_TRANSFER_FLUSH_USEC,
                        PIPE_TRANSFER_ACCURACY_USEC,
                        on_quiet,
                        transfer);
        if (r < 0)
                return r;
        return sd_event_source_set_enabled(transfer->timer, SD_EVENT_OFF);
}

int pipe_transfer_new(sd_event *event,
                int source_fd,
                int out_fd,
                ExportFormat format,
                const PipeTransferHandlers *handlers,
                void *userdata,
                PipeTransfer **ret) {
        static const cookie_io_functions_t functions = { .write = on_print };
        _cleanup_(pipe_transfer_free_cleanup) PipeTransfer *transfer = calloc(1, sizeof(*transfer));
        int r;

        if (!transfer)
                return -ENOMEM;
        transfer->source_fd = -1;
        transfer->out_fd = out_fd;
        transfer->handlers = *handlers;
        transfer->userdata = userdata;
        transfer->clean = format != EXPORT_KTS && isatty(out_fd);
        transfer->memory = fopencookie(transfer, "w", functions);
        if (!transfer->memory)
                return -ENOMEM;
        (void)setvbuf(transfer->memory, NULL, _IOFBF, PIPE_TRANSFER_READ_SIZE);
        r = live_export_new(format, transfer->memory, &transfer->live);
        if (r < 0)
                return r;
        live_export_set_names(transfer->live, transfer->clean);
        transfer->source_fd = source_fd;
        r = pipe_transfer_add_sources(transfer, event);
        if (r < 0) {
                transfer->source_fd = -1; /* still owned by the caller */
                return r;
        }
        *ret = TAKE_PTR(transfer);
        return 0;
}

int pipe_transfer_set_own(PipeTransfer *transfer) {
        if (fcntl(transfer->out_fd, F_SETFL, fcntl(transfer->out_fd, F_GETFL) | O_NONBLOCK) < 0)
                return -errno;
        transfer->is_own = true;
        return 0;
}

void pipe_transfer_set_cpus(PipeTransfer *transfer, const CpuList *cpus) {
        live_export_set_cpus(transfer->live, cpus);
}

void pipe_transfer_set_calls(PipeTransfer *transfer, const CallStyle *style) {
        live_export_set_calls(transfer->live, style);
}

PipeTransfer *pipe_transfer_free(PipeTransfer *transfer) {
        if (!transfer)
                return NULL;
        sd_event_source_disable_unref(transfer->source);
        sd_event_source_disable_unref(transfer->out);
        sd_event_source_disable_unref(transfer->timer);
        live_export_free(transfer->live);
        if (transfer->memory)
                (void)fclose(transfer->memory);
        if (transfer->source_fd >= 0)
                close(transfer->source_fd);
        free(transfer->pending);
        free(transfer);
        return NULL;
}

const ExportSummary *pipe_transfer_get_summary(const PipeTransfer *transfer) {
        return &transfer->summary;
}
