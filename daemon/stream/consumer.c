/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ktrace-consumer: one process per stream, ring -> clean -> frame -> sink. Started by the daemon
 * (control socket as fd 3) or by ktrace-consumer.socket; lives until its sink or its session ends.
 * control.h has the conversation.
 *
 * Wake-ups. Idle, it sleeps in epoll with the instance's buffer_percent at 0, so that the first
 * event wakes it and nothing else does. Then it is active: buffer_percent at ACTIVE_PERCENT, so
 * that the kernel wakes it by fill level alone (waking per event slows the producer 17 times), and
 * a timer flushes what is slow. A tick that finds nothing makes it idle again; a ring that is ready
 * and gives nothing is left alone until the next tick. rings.c has what the kernel makes of it.
 *
 * A sink that takes nothing stops the reading: the ring fills, the kernel drops and counts. When
 * the session ends what the rings hold is read into memory and the rings are let go; the rest is
 * written at the reader's pace, for as long as the reader takes anything within LINGER_TICKS. */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "control.h"
#include "fd.h"
#include "page.h"
#include "queue.h"
#include "rings.h"
#include "sandbox.h"
#include "summary.h"

#define CONTROL_FD   3
#define FLUSH_NSEC   (100 * 1000 * 1000)
#define BATCH_SIZE   ((size_t)64 * 1024)
#define LINGER_TICKS 1200 /* 120 s without a byte taken */
#define CPUS_MAX     8192
/* At the end of a session, for a reader that is slow: half of what the unit may have. What stays in
 * the rings is told as `entries`. */
#define KEPT_BYTES_MAX ((uint64_t)1024 * 1024 * 1024)

typedef enum Source {
        SOURCE_CONTROL = 1,
        SOURCE_TIMER,
        SOURCE_SINK,
        SOURCE_CLIENT,
        SOURCE_RING
} Source;

typedef struct Consumer {
        Watchdog watchdog;
        int epoll_fd, timer_fd;
        bool is_control_open;
        int client_fd; /* the socket of OpenSink */
        Queue queue;
        bool has_sink, sink_is_watched;
        Masks *masks; /* NULL: not fenced */
        PageTally tally;
        Rings rings;
        size_t subbuf_size, batch_size;
        uint64_t ring_bytes; /* at most so many are taken of a ring in one go */
        uint8_t *batch;
        bool is_active, is_resting, found_any;
        bool is_flushing, is_finishing, is_released;
        unsigned n_idle_ticks;
        uint64_t written_at_tick;
        char end_code[32], end_text[CONTROL_TEXT_MAX];
        int names_fd;
        char *metadata;
        size_t metadata_size;
} Consumer;

static void tell(Consumer *c, ControlType type, int error, const char *text) {
        ControlMessage message = {
                .type = type,
                .version = CONTROL_VERSION,
                .status = {
                        .error = error,
                        .written_bytes = c->queue.written_bytes,
                        .discarded_bytes = c->queue.discarded_bytes,
                },
        };

        if (!c->is_control_open)
                return;
        snprintf(message.status.text, sizeof(message.status.text), "%s", text);
        if (fd_send(CONTROL_FD, &message, sizeof(message), NULL, 0) == -EPIPE)
                c->is_control_open = false;
}

static void answer_client(Consumer *c, int error, const char *text, bool is_final) {
        SinkAnswer answer = {
                .error = error,
                .final = is_final,
                .written_bytes = c->queue.written_bytes,
                .discarded_bytes = c->queue.discarded_bytes,
        };

        if (c->client_fd < 0)
                return;
        snprintf(answer.text, sizeof(answer.text), "%s", text);
        (void)fd_send(c->client_fd,
                        &answer,
                        sizeof(answer),
                        NULL,
                        0); /* it may have gone: nobody to tell */
}

static int watch(Consumer *c, int fd, Source source, uint32_t events) {
        struct epoll_event event = { .events = events, .data.u64 = source };

        return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void unwatch(Consumer *c, int fd) {
        (void)epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* not there: as wanted */
}

static void set_tick(Consumer *c, bool on) {
        struct itimerspec spec = { .it_interval.tv_nsec = on ? FLUSH_NSEC : 0,
                .it_value.tv_nsec = on ? FLUSH_NSEC : 0 };

        (void)timerfd_settime(c->timer_fd, 0, &spec, NULL); /* cannot fail with a valid spec */
}

static void watch_rings(Consumer *c, bool on) {
        rings_watch(&c->rings, c->epoll_fd, SOURCE_RING, on);
}

static void set_active(Consumer *c, bool active) {
        if (c->is_released)
                return;
        if (rings_set_active(&c->rings, active) < 0)
                active = true; /* the timer alone keeps the data coming */
        c->is_active = active;
        c->is_resting = false;
        watch_rings(c, !c->sink_is_watched);
        set_tick(c, active && !c->sink_is_watched);
}

/* Reads one ring up to what it held at the beginning, so that a writer faster than we are keeps
 * neither the other rings nor the daemon waiting. When all is wanted and nobody should be writing
 * any more: until it is empty, within bounds. */
static int drain_ring(Consumer *c, Ring *ring) {
        bool is_all = c->is_finishing || c->is_flushing;
        uint64_t bytes = 0;

        int r = ring_read_statistics(ring);
        if (r < 0)
                return r;
        uint64_t held = ring->last.read + ring->last.entries;
        do {
                ssize_t n = ring_read(ring, c->batch, c->batch_size, c->subbuf_size);

                if (n <= 0)
                        return (int)n;
                c->found_any = true;
                watchdog_beat(&c->watchdog, false);
                bytes += (uint64_t)n;
                for (size_t at = 0; c->masks && at < (size_t)n; at += c->subbuf_size)
                        page_clean(c->masks,
                                        c->batch + at,
                                        MIN_OF(c->subbuf_size, (size_t)n - at),
                                        &c->tally);
                FrameHeader header = {
                        .type = FRAME_DATA,
                        .cpu = ring->cpu,
                        .size = (uint64_t)n,
                        .lost = ring_take_lost(ring),
                };
                r = queue_put(&c->queue, &header, c->batch, (size_t)n);
                if (r < 0)
                        return r;
                if (!queue_is_empty(&c->queue) && !c->is_finishing)
                        return 0;
        } while (bytes < c->ring_bytes && c->queue.kept_bytes < KEPT_BYTES_MAX &&
                        (is_all || ring->last.read < held));
        return 0;
}

static int drain_rings(Consumer *c) {
        for (unsigned i = 0; i < c->rings.n_given; i++) {
                if (!queue_is_empty(&c->queue) && !c->is_finishing)
                        break;
                int r = drain_ring(c, &c->rings.ring[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void release_rings(Consumer *c) {
        if (c->is_released)
                return;
        c->is_released = true;
        watch_rings(c, false);
        set_tick(c, true); /* counts how long the reader takes nothing */
        if (rings_release(&c->rings, &c->watchdog))
                tell(c, CONTROL_RELEASED, 0, "");
}

/* What was dropped after the last data of a CPU has no frame of its own yet. */
static int put_last_losses(Consumer *c) {
        for (unsigned i = 0; i < c->rings.n_given; i++) {
                FrameHeader header = { .type = FRAME_DATA, .cpu = i };

                header.lost = ring_take_lost(&c->rings.ring[i]);
                int r = header.lost > 0 ? queue_put(&c->queue, &header, NULL, 0) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The session has ended: all into memory, then the rings are nobody's any more. */
static int finish(Consumer *c) {
        if (c->is_finishing)
                return 0;
        c->is_finishing = true;
        int r = 0;
        if (c->has_sink) {
                const Summary summary = {
                        .rings = c->rings.ring,
                        .n_rings = c->rings.n_cpus,
                        .tally = &c->tally,
                        .names_fd = c->names_fd,
                        .code = c->end_code,
                        .reason = c->end_text,
                };

                (void)drain_rings(c); /* what stays unread is told as `entries` */
                r = put_last_losses(c);
                r = r ?: summary_put(&c->queue, &summary);
        }
        release_rings(c);
        return r;
}

static int flush(Consumer *c) {
        int r = drain_rings(c);

        if (r == 0 && queue_is_empty(&c->queue)) {
                c->is_flushing = false;
                tell(c, CONTROL_FLUSHED, 0, "");
        }
        return r;
}

/* The first bytes; from here on the stream goes out. */
static int attach(Consumer *c, int fd, OutletKind kind) {
        uint8_t head[sizeof(StreamHeader)];
        FrameHeader header = { .type = FRAME_METADATA, .size = c->metadata_size };

        c->queue.fd = fd;
        c->queue.kind = kind;
        c->has_sink = true;
        stream_header_encode(head);
        int r = queue_put(&c->queue, NULL, head, sizeof(head));
        if (r == 0)
                r = queue_put(&c->queue, &header, c->metadata, c->metadata_size);
        free(c->metadata);
        c->metadata = NULL;
        tell(c, CONTROL_ATTACHED, 0, "");
        return r;
}

static int load_metadata(Consumer *c, int fd, bool is_fenced) {
        _cleanup_json_ json_object *object = NULL;
        json_object *events;

        int r = fd_read_all(fd, FRAME_SIZE_MAX, &c->metadata, &c->metadata_size);
        if (r < 0 || !is_fenced)
                return r;
        object = json_tokener_parse(c->metadata);
        if (!object || !json_object_object_get_ex(object, "events", &events))
                return -EBADMSG;
        r = masks_new(events, false, &c->masks);
        if (r < 0)
                return r;
        /* Anonymous memory that is never touched costs nothing. */
        c->tally.pids = mmap(NULL,
                        PAGE_PIDS_MAX / 8,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS,
                        -1,
                        0);
        return c->tally.pids == MAP_FAILED ? -ENOMEM : 0;
}

static int on_setup(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        if (n_fds != 2 || c->batch || message->setup.n_cpus == 0 ||
                        message->setup.n_cpus > CPUS_MAX || message->setup.subbuf_size < 4096 ||
                        message->setup.subbuf_size > 16 * BATCH_SIZE ||
                        (message->setup.sink != CONTROL_SINK_PIPE &&
                                        message->setup.sink != CONTROL_SINK_SOCKET))
                return -EBADMSG;
        c->subbuf_size = message->setup.subbuf_size;
        c->batch_size = MAX_OF(BATCH_SIZE, c->subbuf_size);
        /* The kernel rounds up, and has sub-buffers beside the ring's. */
        c->ring_bytes = message->setup.buffer_bytes + 4 * c->subbuf_size;
        c->batch = malloc(c->batch_size);
        if (!c->batch)
                return -ENOMEM;
        int r = rings_init(&c->rings,
                        message->setup.n_cpus,
                        message->setup.buffer_bytes / c->subbuf_size);
        r = r ?: load_metadata(c, fds[0], message->setup.fenced);
        if (r < 0)
                return r;
        tell(c, CONTROL_READY, 0, "");
        if (message->setup.sink == CONTROL_SINK_PIPE)
                return attach(c, TAKE_FD(fds[1]), OUTLET_OWN_PIPE);
        c->client_fd = TAKE_FD(fds[1]);
        return watch(c, c->client_fd, SOURCE_CLIENT, EPOLLIN);
}

static int on_rings(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        if (!c->has_sink || c->is_released)
                return -EBADMSG;
        int r = rings_take(&c->rings, message->rings.first_cpu, message->rings.n, fds, n_fds);
        if (r < 0 || !rings_are_complete(&c->rings))
                return r;
        set_active(c, false);
        return rings_guard(&c->rings, &c->watchdog);
}

static int on_finish(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        snprintf(c->end_code,
                        sizeof(c->end_code),
                        "%.*s",
                        (int)sizeof(c->end_code) - 1,
                        message->finish.code);
        snprintf(c->end_text,
                        sizeof(c->end_text),
                        "%.*s",
                        CONTROL_TEXT_MAX - 1,
                        message->finish.text);
        if (n_fds > 0)
                c->names_fd = TAKE_FD(fds[0]);
        return finish(c);
}

static int on_control(Consumer *c) {
        int fds[FD_SEND_MAX];
        size_t n_fds = 0;
        ControlMessage message;
        int r;

        ssize_t n = fd_receive(CONTROL_FD, &message, sizeof(message), fds, ELEMENTSOF(fds), &n_fds);
        if (n == -EAGAIN)
                return 0;
        if (n <= 0) { /* the daemon is gone, or has let us go */
                unwatch(c, CONTROL_FD);
                c->is_control_open = false;
                return finish(c);
        }
        if (n != sizeof(message) || message.version != CONTROL_VERSION)
                r = -EBADMSG;
        else if (message.type == CONTROL_SETUP)
                r = on_setup(c, &message, fds, n_fds);
        else if (message.type == CONTROL_RINGS)
                r = on_rings(c, &message, fds, n_fds);
        else if (message.type == CONTROL_FLUSH) {
                c->is_flushing = true;
                r = flush(c);
        } else if (message.type == CONTROL_FINISH)
                r = on_finish(c, &message, fds, n_fds);
        else
                r = -EBADMSG;
        for (size_t i = 0; i < n_fds; i++)
                close_cleanup(&fds[i]);
        return r;
}

/* The client's sink, or the end of its socket before it came. */
static int on_client(Consumer *c) {
        char text[CONTROL_TEXT_MAX] = "";
        int fds[1] = { -1 };
        size_t n_fds = 0;
        OutletKind kind;
        char byte;

        /* What comes after the first message is never received: to close a file can hang as well.
         * Nor is the first without a witness. */
        unwatch(c, c->client_fd);
        tell(c, CONTROL_EXAMINING, 0, "");
        ssize_t n = fd_receive(c->client_fd, &byte, sizeof(byte), fds, ELEMENTSOF(fds), &n_fds);
        if (n == 0 || n == -ECONNRESET) /* it has left */
                return finish(c);
        int r = n == 1 && n_fds == 1 ? 0 : -EBADMSG;
        if (r == 0)
                r = outlet_examine(fds[0], &kind, text, sizeof(text));
        if (r == 0) {
                answer_client(c, 0, "", false);
                return attach(c, fds[0], kind);
        }
        if (text[0] == '\0')
                snprintf(text,
                                sizeof(text),
                                "%s",
                                n == 1 && n_fds == 1 ? strerror(-r)
                                                     : "one byte with one fd is wanted");
        answer_client(c, -r, text, false);
        close_cleanup(&c->client_fd);
        tell(c, CONTROL_REFUSED, -r, text);
        return finish(c);
}

static int on_tick(Consumer *c) {
        uint64_t count;

        if (read(c->timer_fd, &count, sizeof(count)) < 0)
                return 0;
        if (c->is_released) {
                bool is_moving = c->queue.written_bytes != c->written_at_tick;

                c->written_at_tick = c->queue.written_bytes;
                c->n_idle_ticks = is_moving ? 0 : c->n_idle_ticks + 1;
                return c->n_idle_ticks > LINGER_TICKS ? -ETIMEDOUT : 0;
        }
        c->found_any = false;
        int r = queue_is_empty(&c->queue) ? drain_rings(c) : 0;
        if (r < 0 || !queue_is_empty(&c->queue))
                return r;
        if (!c->found_any)
                set_active(c, false);
        else if (c->is_resting)
                set_active(c, true);
        return 0;
}

static int on_ring(Consumer *c) {
        if (c->is_released || !queue_is_empty(&c->queue))
                return 0;
        if (!c->is_active)
                set_active(c, true);
        c->found_any = false;
        int r = drain_rings(c);
        if (r == 0 && !c->found_any) {
                watch_rings(c, false);
                c->is_resting = true;
        }
        return r;
}

/* Whether the sink has to be waited for; the rings are left alone meanwhile. */
static int balance(Consumer *c) {
        bool is_waiting = !queue_is_empty(&c->queue);

        if (is_waiting == c->sink_is_watched || c->queue.fd < 0)
                return 0;
        int r = 0;
        if (is_waiting)
                r = watch(c, c->queue.fd, SOURCE_SINK, EPOLLOUT);
        else
                unwatch(c, c->queue.fd);
        c->sink_is_watched = is_waiting;
        if (!c->is_released && rings_are_complete(&c->rings)) {
                watch_rings(c, !is_waiting);
                set_tick(c, c->is_active && !is_waiting);
        }
        return r;
}

static int handle(Consumer *c, Source source) {
        switch (source) {
        case SOURCE_CONTROL:
                return on_control(c);
        case SOURCE_TIMER:
                return on_tick(c);
        case SOURCE_CLIENT:
                return on_client(c);
        case SOURCE_RING:
                return on_ring(c);
        case SOURCE_SINK:
                queue_flush(&c->queue);
                return c->is_flushing && queue_is_empty(&c->queue) ? flush(c) : 0;
        }
        return -EBADMSG;
}

static bool is_done(const Consumer *c) {
        return c->queue.error != 0 || (c->is_finishing && queue_is_empty(&c->queue));
}

static int run(Consumer *c) {
        while (!is_done(c)) {
                struct epoll_event events[16];

                watchdog_beat(&c->watchdog, true);
                int n = epoll_wait(c->epoll_fd, events, ELEMENTSOF(events), -1);
                watchdog_beat(&c->watchdog, false);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (watchdog_has_bitten(&c->watchdog))
                        return -ETIMEDOUT;
                /* All ready rings are read by the first of their events. */
                bool has_ring = false;
                for (int i = 0; i < n; i++) {
                        Source source = (Source)events[i].data.u64;
                        int r = source == SOURCE_RING && has_ring ? 0 : handle(c, source);

                        if (r < 0)
                                return r;
                        has_ring = has_ring || source == SOURCE_RING;
                }
                int r = balance(c);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int init(Consumer *c) {
        int type;
        socklen_t size = sizeof(type);

        if (getsockopt(CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
                return -ENOTSOCK;
        c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (c->epoll_fd < 0 || c->timer_fd < 0)
                return -errno;
        int r = watch(c, CONTROL_FD, SOURCE_CONTROL, EPOLLIN);
        return r ?: watch(c, c->timer_fd, SOURCE_TIMER, EPOLLIN);
}

/* Everything that is left is given up and told. */
static void conclude(Consumer *c, int result) {
        int error = c->queue.error ?: result < 0 ? -result : 0;

        release_rings(c);
        queue_clear(&c->queue);
        answer_client(c, error, error ? strerror(error) : "", true);
        tell(c, CONTROL_GONE, error, error ? strerror(error) : "");
}

int main(int argc, char **argv) {
        static const struct option options[] = { { "user", required_argument, NULL, 'u' }, {} };
        Consumer c = {
                .rings = RINGS_NONE, .client_fd = -1, .names_fd = -1, .is_control_open = true
        };
        char text[CONTROL_TEXT_MAX] = "";
        const char *user = NULL;
        int option;

        while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
                if (option != 'u')
                        return EXIT_FAILURE;
                user = optarg;
        }
        queue_init(&c.queue);
        snprintf(c.end_code, sizeof(c.end_code), "daemon-gone");
        snprintf(c.end_text, sizeof(c.end_text), "the daemon went away");
        int r = init(&c);
        if (r == 0)
                r = watchdog_start(&c.watchdog, CONTROL_FD);
        if (r == 0)
                r = sandbox_enter(user, text, sizeof(text));
        if (r < 0) {
                const char *why = text[0]          ? text
                                  : r == -ENOTSOCK ? "is started by ktraced only"
                                                   : strerror(-r);

                fprintf(stderr, "ktrace-consumer: %s\n", why);
                tell(&c, CONTROL_REFUSED, -r, why);
                return EXIT_FAILURE;
        }
        r = run(&c);
        conclude(&c, r);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
