/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves a live stream from the daemon's pipe through LiveExport to standard output, a pipe or a
 * file. The exporter prints into memory, and this file writes it out at the reader's speed. A stuck
 * reader blocks nothing else: flow stops reading, the kernel drops and counts events, and ^C still
 * works.
 *
 * A shared descriptor must not be set to O_NONBLOCK. So it relies on POLLOUT: a pipe that
 * reports it accepts PIPE_BUF bytes without blocking (pipe(7)). Regular files are never pollable
 * (epoll: EPERM) and never block for long. Owns the source, the exporter and the data not yet
 * written; not the output. */

#include "recording/flow.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/export-live.h"

#define FLOW_READ_SIZE       (64 * 1024)
#define FLOW_FLUSH_USEC      ((uint64_t)30 * 1000)
#define FLOW_WRITES_PER_TURN 64 /* then other event sources run */

struct Flow {
        int source_fd;
        int out_fd;
        bool pollable;
        bool clean;
        bool draining;
        bool ended; /* the source has ended and the exporter has finished */
        LiveExport *live;
        FILE *memory;
        char *pending; /* its first `written` bytes are written */
        size_t n_pending, n_allocated, written;
        ExportSummary summary;
        sd_event_source *source, *out, *timer;
        FlowHandlers handlers;
        void *userdata;
        uint8_t buffer[FLOW_READ_SIZE];
};

/* Only newline and tab reach a terminal from here. Names and arguments of traced programs may
 * contain other control characters. UTF-8's C1 controls (c2 80 to c2 9f) are two bytes. */
static void flow_clean(char *text, size_t size) {
        for (size_t i = 0; i < size; i++) {
                unsigned char c = (unsigned char)text[i];

                if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
                        text[i] = '?';
                else if (c == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] >= 0x80 &&
                                (unsigned char)text[i + 1] <= 0x9f)
                        text[i] = text[i + 1] = '?';
        }
}

static ssize_t on_print(void *userdata, const char *data, size_t size) {
        Flow *flow = userdata;

        if (flow->n_pending + size > flow->n_allocated) {
                size_t wanted = (flow->n_pending + size) * 2;
                char *grown = realloc(flow->pending, wanted);

                if (!grown) {
                        errno = ENOMEM;
                        return 0;
                }
                flow->pending = grown;
                flow->n_allocated = wanted;
        }
        memcpy(flow->pending + flow->n_pending, data, size);
        if (flow->clean)
                flow_clean(flow->pending + flow->n_pending, size);
        flow->n_pending += size;
        return (ssize_t)size;
}

static void flow_done(Flow *flow, int result, const Reason *reason) {
        flow->source = sd_event_source_disable_unref(flow->source);
        flow->out = sd_event_source_disable_unref(flow->out);
        flow->timer = sd_event_source_disable_unref(flow->timer);
        /* Closing the pipe here shows the consumer at once that its reader is gone. */
        if (flow->source_fd >= 0)
                close(TAKE_FD(flow->source_fd));
        flow->handlers.on_done(flow, result, reason, flow->userdata);
}

static bool flow_may_write(const Flow *flow) {
        struct pollfd pollfd = { .fd = flow->out_fd, .events = POLLOUT };

        return !flow->pollable || poll(&pollfd, 1, 0) != 0;
}

/* Writes as much as the reader accepts now. -EAGAIN: data is left. */
static int flow_write(Flow *flow) {
        for (int turn = 0; flow->written < flow->n_pending; turn++) {
                size_t left = flow->n_pending - flow->written;
                ssize_t n;

                if (turn == FLOW_WRITES_PER_TURN || !flow_may_write(flow))
                        return -EAGAIN;
                n = write(flow->out_fd,
                                flow->pending + flow->written,
                                flow->pollable ? MIN_OF(left, (size_t)PIPE_BUF) : left);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return -EAGAIN;
                if (n < 0)
                        return -errno;
                flow->written += (size_t)n;
        }
        flow->n_pending = flow->written = 0;
        return 0;
}

/* Call it after anything was printed: continues to read, or first waits for the reader. */
static void flow_advance(Flow *flow) {
        bool waiting;
        int r;

        if (fflush(flow->memory) != 0) {
                flow_done(flow, -ENOMEM, NULL);
                return;
        }
        r = flow_write(flow);
        waiting = r == -EAGAIN;
        if (r < 0 && !waiting) {
                flow_done(flow, r, NULL);
                return;
        }
        if (flow->ended && !waiting) {
                flow_done(flow, 0, NULL);
                return;
        }
        if (flow->out)
                (void)sd_event_source_set_enabled(flow->out, waiting ? SD_EVENT_ON : SD_EVENT_OFF);
        if (!flow->ended)
                (void)sd_event_source_set_enabled(flow->source,
                                waiting && !flow->draining ? SD_EVENT_OFF : SD_EVENT_ON);
}

void flow_hold(Flow *flow) {
        (void)sd_event_source_set_enabled(flow->source, SD_EVENT_OFF);
}

void flow_continue(Flow *flow) {
        if (flow->source && !flow->ended)
                (void)sd_event_source_set_enabled(flow->source, SD_EVENT_ON);
}

void flow_drain(Flow *flow) {
        flow->draining = true;
        if (flow->source && !flow->ended)
                (void)sd_event_source_set_enabled(flow->source, SD_EVENT_ON);
}

static int on_writable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        flow_advance(userdata);
        return 0;
}

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata) {
        Flow *flow = userdata;

        /* Nothing more is printed for a stuck reader. */
        if (flow->n_pending > 0 || live_export_flush(flow->live) < 0)
                return 0;
        flow_advance(flow);
        return 0;
}

static void flow_end(Flow *flow) {
        Reason reason = {};
        int r = live_export_finish(flow->live, &flow->summary, &reason);

        if (r != 0) {
                flow_done(flow, r, &reason);
                return;
        }
        flow->ended = true;
        (void)sd_event_source_set_enabled(flow->source, SD_EVENT_OFF);
        (void)sd_event_source_set_enabled(flow->timer, SD_EVENT_OFF);
        flow_advance(flow);
}

void flow_hang_up(Flow *flow) {
        if (!flow->ended)
                flow_end(flow);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Flow *flow = userdata;
        Reason reason = {};
        ssize_t n = read(fd, flow->buffer, sizeof(flow->buffer));
        int r;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n < 0) {
                flow_done(flow, -errno, NULL);
                return 0;
        }
        if (n == 0) {
                flow_end(flow);
                return 0;
        }
        r = live_export_feed(flow->live, flow->buffer, (size_t)n, &reason);
        if (r != 0) {
                flow_done(flow, r, &reason);
                return 0;
        }
        (void)sd_event_source_set_time_relative(flow->timer, FLOW_FLUSH_USEC);
        (void)sd_event_source_set_enabled(flow->timer, SD_EVENT_ONESHOT);
        flow_advance(flow);
        return 0;
}

static int flow_add_sources(Flow *flow, sd_event *event) {
        int r = sd_event_add_io(event, &flow->out, flow->out_fd, EPOLLOUT, on_writable, flow);

        flow->pollable = r != -EPERM;
        if (r < 0 && r != -EPERM)
                return r;
        if (flow->out)
                (void)sd_event_source_set_enabled(flow->out, SD_EVENT_OFF);
        r = sd_event_add_io(event, &flow->source, flow->source_fd, EPOLLIN, on_readable, flow);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(
                        event, &flow->timer, CLOCK_MONOTONIC, FLOW_FLUSH_USEC, 0, on_quiet, flow);
        if (r < 0)
                return r;
        return sd_event_source_set_enabled(flow->timer, SD_EVENT_OFF);
}

int flow_new(sd_event *event,
                int source_fd,
                int out_fd,
                ExportFormat format,
                const FlowHandlers *handlers,
                void *userdata,
                Flow **ret) {
        static const cookie_io_functions_t functions = { .write = on_print };
        _cleanup_(flow_free_cleanup) Flow *flow = calloc(1, sizeof(*flow));
        int r;

        if (!flow)
                return -ENOMEM;
        flow->source_fd = -1;
        flow->out_fd = out_fd;
        flow->handlers = *handlers;
        flow->userdata = userdata;
        flow->clean = format != EXPORT_KTS && isatty(out_fd);
        flow->memory = fopencookie(flow, "w", functions);
        if (!flow->memory)
                return -ENOMEM;
        (void)setvbuf(flow->memory, NULL, _IOFBF, FLOW_READ_SIZE);
        r = live_export_new(format, flow->memory, &flow->live);
        if (r < 0)
                return r;
        flow->source_fd = source_fd;
        r = flow_add_sources(flow, event);
        if (r < 0) {
                flow->source_fd = -1; /* still owned by the caller */
                return r;
        }
        *ret = TAKE_PTR(flow);
        return 0;
}

void flow_set_cpus(Flow *flow, const CpuList *cpus) {
        live_export_set_cpus(flow->live, cpus);
}

Flow *flow_free(Flow *flow) {
        if (!flow)
                return NULL;
        sd_event_source_disable_unref(flow->source);
        sd_event_source_disable_unref(flow->out);
        sd_event_source_disable_unref(flow->timer);
        live_export_free(flow->live);
        if (flow->memory)
                (void)fclose(flow->memory);
        if (flow->source_fd >= 0)
                close(flow->source_fd);
        free(flow->pending);
        free(flow);
        return NULL;
}

const ExportSummary *flow_get_summary(const Flow *flow) {
        return &flow->summary;
}
