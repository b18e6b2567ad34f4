/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Moves one stream: ring -> clean -> frame -> sink. Called by main.c, once in a process: each
 * stream has its own. It runs until its sink or its session ends. control.h describes the messages.
 *
 * When the sink takes no data, the consumer stops reading. The ring fills, and the kernel drops
 * events and counts them. When the session ends, the consumer reads the rest of the rings into
 * memory and releases the rings. Then it writes the rest at the reader's pace, until the reader has
 * taken nothing for LINGER_TICKS. A snapshot that cannot be written is read all the same
 * (window.c).
 *
 * consumer-wake.c decides what wakes the process. */

#include "consumer/consumer.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/fd.h"
#include "consumer/consumer-counts.h"
#include "consumer/consumer-report.h"
#include "consumer/consumer-spool.h"
#include "consumer/consumer-wake.h"
#include "consumer/pump.h"
#include "consumer/sandbox.h"
#include "consumer/title.h"
#include "interfaces/control.h"
#include "interfaces/defence.h"

#define LINGER_TICKS 1200 /* 120 s in which the reader takes no byte */

static int consumer_finish(Consumer *c);

static void ask_for_proof(Consumer *c) {
        if (c->pump.fence.wants_proof)
                consumer_report(c, CONTROL_DOUBT, 0, "");
        c->pump.fence.wants_proof = false;
}

static int drain_rings(Consumer *c, PumpReach reach) {
        int r = pump_run(&c->pump, c->is_flushing ? PUMP_ALL : reach);

        consumer_report_hits(c);
        ask_for_proof(c);
        return r == -ECANCELED ? consumer_finish(c) : r;
}

static void release_rings(Consumer *c) {
        if (c->is_released)
                return;
        c->is_released = true;
        consumer_begin_linger(c);
        bool is_broken = c->pump.window.is_on && !c->pump.window.is_whole;
        view_close(&c->pump.view);
        if (rings_release(&c->pump.rings, &c->watchdog))
                consumer_report(c, CONTROL_RELEASED, is_broken ? EPIPE : 0, "");
}

static int consumer_put_rest(Consumer *c) {
        if (c->is_discarding)
                return pump_discard(&c->pump);
        if (c->is_left && c->queue.spool)
                return consumer_leave_spool(c);
        int r = pump_end(&c->pump);
        if (!c->pump.window.is_on || c->pump.is_tripped) /* the daemon must learn it first */
                return r;
        /* The next snapshot need not wait for what this one's reader gets. */
        release_rings(c);
        return r ?: pump_put_window(&c->pump);
}

/* The session has ended: reads everything into memory and releases the rings. */
static int consumer_finish(Consumer *c) {
        if (c->is_finishing)
                return 0;
        c->is_finishing = true;
        watchdog_expect_end(&c->watchdog);
        int r = 0;
        if (c->has_sink) {
                r = consumer_put_rest(c);
                consumer_report_end(c);
                size_t room = c->queue.spool && queue_is_empty(&c->queue)
                                              ? spool_sink_get_names_room(&c->spool)
                              : c->queue.spool ? c->spool.names_bytes
                                               : SIZE_MAX;
                r = r ?: consumer_put_summary(c, &c->queue, c->end_code, c->end_text, room);
                c->pump.past = past_free(c->pump.past); /* a slow reader would keep it */
        } else if (c->pump.window.is_on) {              /* without a reader: only for the window */
                r = c->is_discarding ? 0 : pump_end(&c->pump);
        } else if (c->pump.counts) {
                if (!c->is_discarding && rings_are_complete(&c->pump.rings))
                        (void)pump_catch_up(&c->pump); /* consumer_report_end() reports its guard */
                consumer_report_end(c);
        }
        if (!c->is_discarding)
                consumer_report_hits(c);
        release_rings(c);
        return r;
}

static int flush(Consumer *c) {
        if (c->pump.window.is_on) {
                int read = pump_read_window(&c->pump);
                if (read == 0)
                        consumer_report(c, CONTROL_FLUSHED, 0, "");
                return read;
        }
        int r = drain_rings(c, PUMP_ALL);

        if (r == 0 && queue_is_empty(&c->queue) && !c->pump.is_tripped &&
                        c->pump.fence.waits_since == 0) {
                c->is_flushing = false;
                consumer_report(c, CONTROL_FLUSHED, 0, "");
        }
        return r;
}

/* Writes the first bytes. From here on the stream goes out. */
static int attach(Consumer *c, int fd, OutletKind kind) {
        uint8_t head[sizeof(StreamHeader)];
        FrameHeader header = { .type = FRAME_METADATA, .size = c->metadata_size };

        queue_open(&c->queue, fd, kind);
        c->has_sink = true;
        c->pump.is_muted = false;
        stream_header_encode(head, c->pump.packer.context ? STREAM_VERSION_PACKED : STREAM_VERSION);
        int r = kind == OUTLET_OWN_PIPE ? consumer_watch(c, fd, SOURCE_SINK, 0) : 0;
        r = r ?: queue_put(&c->queue, NULL, head, sizeof(head));
        if (r == 0)
                r = queue_put(&c->queue, &header, c->metadata, c->metadata_size);
        if (!c->pump.counts) {
                free(c->metadata);
                c->metadata = NULL;
        }
        consumer_report(c, CONTROL_ATTACHED, 0, "");
        return r;
}

/* The reader of a counted stream has gone. Counting continues. */
static void detach(Consumer *c) {
        int error = c->queue.error;

        consumer_unwatch(c, c->queue.fd);
        queue_clear(&c->queue);
        consumer_answer_client(c, error, error ? strerror(error) : "", true);
        if (c->client_fd >= 0)
                consumer_unwatch(c, c->client_fd);
        close_cleanup(&c->client_fd);
        consumer_report(c, CONTROL_DETACHED, error, error ? strerror(error) : "");
        queue_init(&c->queue);
        c->has_sink = false;
        c->pump.is_muted = true;
        if (c->sink_is_watched) {
                c->sink_is_watched = false;
                consumer_set_active(c, true);
        }
}

static bool may_detach(const Consumer *c) {
        return c->pump.counts && !c->queue.spool && !c->is_finishing && c->is_control_open;
}

/* Sets the destination of the stream. Consumes the sink. */
static int take_sink(Consumer *c, uint32_t kind, int *sink) {
        if (c->has_sink || c->client_fd >= 0 || !c->metadata)
                return -EBADMSG;
        if (kind == CONTROL_SINK_PIPE)
                return attach(c, TAKE_FD(*sink), OUTLET_OWN_PIPE);
        if (kind != CONTROL_SINK_SOCKET)
                return -EBADMSG;
        c->client_fd = TAKE_FD(*sink);
        return consumer_watch(c, c->client_fd, SOURCE_CLIENT, EPOLLIN);
}

/* The descriptors are the metadata, then those of the kind of sink, then the plan of what to
 * count, or the lives of a user. */
static bool has_setup_fds(const ControlMessage *message, bool is_snapshot, size_t n_fds) {
        bool is_counted = message->setup.counted && !is_snapshot;
        size_t n = 1 + is_counted;

        if (message->setup.has_lives) /* each stream has its own way to know whose records are */
                return is_snapshot && !message->setup.judged &&
                       message->setup.sink == CONTROL_SINK_PIPE && n_fds == 3;
        switch (message->setup.sink) {
        case CONTROL_SINK_PIPE:
        case CONTROL_SINK_SOCKET:
                return n_fds == n + 1;
        case CONTROL_SINK_SPOOL: /* with or without the names of commands */
                return !is_snapshot && (n_fds == n || n_fds == n + 1);
        case CONTROL_SINK_NONE:
                return (is_counted || is_snapshot) && n_fds == n;
        default:
                return false;
        }
}

static int set_up_stream(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        bool is_counted = message->setup.counted;

        int r = is_counted ? consumer_take_counts(c, fds[n_fds - 1]) : 0;
        r = r ?: fd_read_all(fds[0], FRAME_SIZE_MAX, &c->metadata, &c->metadata_size);
        if (r == 0 && message->setup.has_lives)
                c->pump.lives_fd = fds[2];
        r = r ?: pump_init(&c->pump, message, c->metadata, &c->queue, &c->watchdog);
        if (r < 0)
                return r;
        title_set_session(c->metadata);
        if (message->setup.sink == CONTROL_SINK_SPOOL && n_fds > 1U + is_counted)
                name_list_set(&c->names, TAKE_FD(fds[1]));
        return message->setup.sink == CONTROL_SINK_SPOOL ? consumer_set_up_spool(c, message) : 0;
}

static int on_setup(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        bool is_snapshot = message->setup.snapshot != CONTROL_SNAPSHOT_NONE;

        if (c->metadata || !has_setup_fds(message, is_snapshot, n_fds))
                return -EBADMSG;
        int r = set_up_stream(c, message, fds, n_fds);
        if (r < 0)
                return r;
        c->is_shared = message->setup.shared;
        c->pump.window.is_on = is_snapshot;
        c->pump.window.is_frozen = message->setup.snapshot == CONTROL_SNAPSHOT_FROZEN;
        consumer_report(c, CONTROL_READY, 0, "");
        if (message->setup.sink == CONTROL_SINK_SPOOL)
                return 0;
        if (message->setup.sink != CONTROL_SINK_NONE)
                return take_sink(c, message->setup.sink, &fds[1]);
        c->pump.is_muted = true;
        consumer_report(c, CONTROL_ATTACHED, 0, "");
        return 0;
}

static int on_rings(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        if ((!c->has_sink && !c->pump.counts && !c->pump.window.is_on) || c->is_released ||
                        c->is_shared || (c->pump.window.is_on && c->pump.window.kept_fd < 0))
                return -EBADMSG;
        if (c->pump.fence.is_on &&
                        c->pump.rings.guard.tracing_fd < 0) /* nothing is read without its guard */
                return -EBADMSG;
        int r = rings_take(&c->pump.rings, message->rings.first_cpu, message->rings.n, fds, n_fds);
        if (r < 0 || !rings_are_complete(&c->pump.rings))
                return r;
        if (!c->pump.window.is_on) /* a snapshot is read once, at FINISH */
                consumer_set_active(c, false);
        r = rings_guard(&c->pump.rings, &c->watchdog);
        r = r ?: consumer_answer_early(c);
        return r == -ECANCELED ? consumer_finish(c) : r;
}

static int consumer_on_finish(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
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
        c->is_discarding = message->finish.discards;
        c->n_interferences = message->finish.interferences;
        c->interference_nsec = message->finish.interference_nsec;
        if (n_fds > 0)
                name_list_set(&c->names, TAKE_FD(fds[0]));
        return consumer_finish(c);
}

static int on_members(Consumer *c, const ControlMessage *message, int fd) {
        if (!c->pump.fence.is_on)
                return consumer_take_names(c, message, fd);
        int r = fence_take_members(&c->pump.fence, message, fd);

        if (r < 0 || c->pump.fence.waits_since == 0 || c->is_released || !queue_is_empty(&c->queue))
                return r;
        r = c->is_flushing ? flush(c) : drain_rings(c, PUMP_HELD);
        if (r == 0 && c->is_resting && c->pump.fence.waits_since == 0)
                consumer_set_active(c, true);
        return r;
}

/* The session shares an instance. Its reader wakes this process, so no tick is needed. */
static int on_view(Consumer *c, int *fds) {
        if (!c->is_shared || !c->has_sink || c->is_released || c->pump.rings.n_given > 0)
                return -EBADMSG;
        int r = pump_open_view(&c->pump, fds);
        if (r == 0)
                consumer_watch_rings(c, !c->sink_is_watched);
        return r;
}

/* Another daemon has taken the session over. */
static int consumer_on_adopt(Consumer *c, const ControlMessage *message) {
        if (c->pump.fence.is_on)
                fence_add_marker(&c->pump.fence, message->adopt.marker_tid);
        if (c->queue.spool)
                consumer_answer_spool(c);
        if (c->is_released) /* the last daemon may not have received it */
                consumer_report(c, CONTROL_RELEASED, 0, "");
        else if (c->pump.counts && !c->has_sink && c->client_fd < 0)
                consumer_report(c, CONTROL_DETACHED, 0, "");
        return 0;
}

/* A descriptor that a callee keeps is -1 afterwards. The caller closes the others. */
static int consumer_on_message(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        int r;

        switch (message->type) {
        case CONTROL_SETUP:
                return on_setup(c, message, fds, n_fds);
        case CONTROL_RINGS:
                return on_rings(c, message, fds, n_fds);
        case CONTROL_VIEW:
                return n_fds == SHARE_VIEW_FDS ? on_view(c, fds) : -EBADMSG;
        case CONTROL_FLUSH:
                c->is_flushing = !c->pump.window.is_on;
                return flush(c);
        case CONTROL_FINISH:
                return consumer_on_finish(c, message, fds, n_fds);
        case CONTROL_MEMBERS:
                return n_fds == 1 ? on_members(c, message, fds[0]) : -EBADMSG;
        case CONTROL_INNER_PIDS:
                if (n_fds > 0)
                        return n_fds == 1 ? inner_list_take(&c->inner, message, fds[0]) : -EBADMSG;
                inner_list_end(&c->inner); /* a message without a list withdraws it */
                return 0;
        case CONTROL_GUARD:
                return c->pump.fence.is_on ? rings_take_guard(&c->pump.rings, fds, n_fds)
                                           : -EBADMSG;
        case CONTROL_ADOPT:
                return consumer_on_adopt(c, message);
        case CONTROL_SINK:
                if (n_fds != 1 || !may_detach(c))
                        return -EBADMSG;
                consumer_report(c, CONTROL_READY, 0, "");
                return take_sink(c, message->sink.kind, &fds[0]);
        case CONTROL_COUNTS:
                r = consumer_on_counts(c, message, fds, n_fds);
                return r == -ECANCELED ? consumer_finish(c) : r; /* the guard has fired */
        case CONTROL_SPOOL_FILE:
                return consumer_on_spool_file(c, message, fds, n_fds);
        case CONTROL_WINDOW:
                return n_fds == 2 ? pump_open_window(&c->pump, fds[0], TAKE_FD(fds[1])) : -EBADMSG;
        default:
                return -EBADMSG;
        }
}

static int on_control(Consumer *c) {
        int fds[FD_SEND_MAX];
        size_t n_fds = 0;
        ControlMessage message;

        ssize_t n = fd_receive(CONTROL_FD, &message, sizeof(message), fds, ELEMENTSOF(fds), &n_fds);
        if (n == -EAGAIN)
                return 0;
        if (n <= 0) { /* the daemon is gone, or has released this process */
                consumer_unwatch(c, CONTROL_FD);
                c->is_control_open = false;
                c->is_left = !c->is_finishing;
                return consumer_finish(c);
        }
        int r = n == sizeof(message) && message.version == CONTROL_VERSION
                                ? consumer_on_message(c, &message, fds, n_fds)
                                : -EBADMSG;
        for (size_t i = 0; i < n_fds; i++)
                close_cleanup(&fds[i]);
        return r;
}

/* Closes a client's file that will not be written to. The close may hang, so another thread does
 * it. A counted stream may get several readers, one after the other. Fails with -EMFILE when too
 * many of their files hang. The stream then ends. */
static int drop_file(Consumer *c, int fd) {
        if (fd < 0)
                return 0;
        if (!syncer_has_room(&c->syncer))
                return -EMFILE;
        syncer_push(&c->syncer, fd, false, true);
        return 0;
}

/* No usable sink has come from the client. */
static int leave_client(Consumer *c) {
        if (!may_detach(c))
                return consumer_finish(c);
        detach(c);
        return 0;
}

/* Receives the client's sink, or the end of its socket. */
static int on_client(Consumer *c) {
        char text[CONTROL_TEXT_MAX] = "";
        int fds[1] = { -1 };
        size_t n_fds = 0;
        OutletKind kind;
        char byte;

        /* Only the first message is received, because closing a received file can also hang. The
         * daemon is informed before the first one is received. */
        consumer_unwatch(c, c->client_fd);
        consumer_report(c, CONTROL_EXAMINING, 0, "");
        ssize_t n = fd_receive(c->client_fd, &byte, sizeof(byte), fds, ELEMENTSOF(fds), &n_fds);
        /* A counted stream may get several readers, one after the other. */
        int r = c->pump.counts ? 0 : sandbox_end_receiving();
        if (r < 0)
                return r;
        if (n == 0 || n == -ECONNRESET) /* the client has gone */
                return leave_client(c);
        r = n == 1 && n_fds == 1 ? 0 : -EBADMSG;
        if (r == 0)
                r = outlet_examine(fds[0], &kind, text, sizeof(text));
        /* A client that no longer waits may be writing to the file itself. */
        if (r == 0 && consumer_answer_client(c, 0, "", false))
                return attach(c, fds[0], kind);
        int dropped = drop_file(c, fds[0]);
        if (r == 0)
                return dropped ?: leave_client(c);
        if (text[0] == '\0')
                snprintf(text,
                                sizeof(text),
                                "%s",
                                n == 1 && n_fds == 1 ? strerror(-r)
                                                     : "expected one byte with one fd");
        consumer_answer_client(c, -r, text, false);
        close_cleanup(&c->client_fd);
        consumer_report(c, CONTROL_REFUSED, -r, text);
        return dropped ?: leave_client(c);
}

static int consumer_on_tick(Consumer *c) {
        uint64_t count;

        if (read(c->timer_fd, &count, sizeof(count)) < 0)
                return 0;
        if (c->queue.spool)
                consumer_tick_spool(c);
        if (c->is_released) {
                bool is_moving = c->queue.written_bytes != c->written_at_tick;

                c->written_at_tick = c->queue.written_bytes;
                c->n_idle_ticks = is_moving ? 0 : c->n_idle_ticks + 1;
                return c->n_idle_ticks > LINGER_TICKS ? -ETIMEDOUT : 0;
        }
        c->pump.found_any = false;
        int r = !queue_is_empty(&c->queue) ? 0
                : c->is_flushing           ? flush(c)
                                           : drain_rings(c, PUMP_HELD);
        if (r < 0 || !queue_is_empty(&c->queue))
                return r;
        consumer_settle_tick(c, count);
        return 0;
}

/* The reader of the shared instance decides when there is enough data. Only the files of a spool
 * need ticks. */
static int on_entries(Consumer *c) {
        if (c->queue.spool && !c->is_active)
                consumer_set_active(c, true);
        int r = drain_rings(c, PUMP_HELD);

        if (c->pump.view.is_over) /* else the end of the pipe would wake this process for ever */
                consumer_watch_rings(c, false);
        return r;
}

static int on_ring(Consumer *c) {
        if (c->is_released || !queue_is_empty(&c->queue))
                return 0;
        if (c->pump.view.is_open)
                return on_entries(c);
        bool was_active = c->is_active;

        if (!was_active)
                consumer_set_active(c, true);
        c->pump.found_any = false;
        int r = drain_rings(c, was_active ? PUMP_FULL : PUMP_HELD);
        /* A stream that waits for a proof reads nothing, so its rings stay ready. The answer or a
         * tick ends the wait. */
        if (r == 0 && (!c->pump.found_any || c->pump.fence.waits_since != 0))
                consumer_rest(c);
        return r;
}

static int on_sink(Consumer *c, uint32_t events) {
        queue_flush(&c->queue);
        /* While there is nothing to write, only this event shows that the reader has gone. */
        if ((events & EPOLLERR) && c->queue.error == 0)
                queue_fail(&c->queue, EPIPE);
        if (c->queue.error != 0) /* this event does not end, and the stream may have to go on */
                consumer_unwatch(c, c->queue.fd);
        return c->is_flushing && queue_is_empty(&c->queue) ? flush(c) : 0;
}

static int consumer_handle(Consumer *c, Source source, uint32_t events) {
        switch (source) {
        case SOURCE_CONTROL:
                return on_control(c);
        case SOURCE_TIMER:
                return consumer_on_tick(c);
        case SOURCE_CLIENT:
                return on_client(c);
        case SOURCE_SYNC:
                consumer_on_sync(c);
                return 0;
        case SOURCE_REPLY:
                consumer_on_reply(c);
                return 0;
        case SOURCE_RING:
                return on_ring(c);
        case SOURCE_SINK:
                return on_sink(c, events);
        }
        return -EBADMSG;
}

/* The daemon may have taken the records out of the ring already. They belong to all later
 * snapshots, which other users may ask for. So a reader that leaves ends the stream only after the
 * window is complete. */
static bool consumer_owes_window(const Consumer *c) {
        return defence_is_on("snapshot-window") && c->pump.window.is_on && !c->is_released;
}

static bool is_done(Consumer *c) {
        if (c->queue.error != 0 && may_detach(c))
                detach(c);
        return (c->queue.error != 0 && !consumer_owes_window(c)) ||
               (c->is_finishing && queue_is_empty(&c->queue));
}

/* A question about the counts waits until the members are proven. */
static int answer_question(Consumer *c) {
        if (c->question.type == 0 || (!c->is_released && !rings_are_complete(&c->pump.rings)))
                return 0;
        int r = consumer_awaits_proof(c) ? 0 : consumer_answer_early(c);
        if (r == 0 && consumer_awaits_proof(c)) {
                ask_for_proof(c);
                if (!c->is_active) /* a tick asks again, and ends the wait */
                        consumer_set_active(c, true);
        }
        return r == -ECANCELED ? consumer_finish(c) : r;
}

static int consumer_open(Consumer *c) {
        int type;
        socklen_t size = sizeof(type);

        if (getsockopt(CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
                return -ENOTSOCK;
        c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        c->sync_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (c->epoll_fd < 0 || c->timer_fd < 0 || c->sync_fd < 0)
                return -errno;
        int r = consumer_watch(c, CONTROL_FD, SOURCE_CONTROL, EPOLLIN);
        return r ?: consumer_watch(c, c->timer_fd, SOURCE_TIMER, EPOLLIN);
}

int consumer_init(Consumer *c) {
        *c = (Consumer){
                .pump = PUMP_NONE,
                .client_fd = -1,
                .names = NAME_LIST_NONE,
                .is_control_open = true,
                .reply = COUNTS_REPLY_NONE,
                .question_fd = -1,
        };
        queue_init(&c->queue);
        snprintf(c->end_code, sizeof(c->end_code), "daemon-gone");
        snprintf(c->end_text, sizeof(c->end_text), "the daemon went away");
        int r = consumer_open(c);
        r = r ?: watchdog_start(&c->watchdog, CONTROL_FD);
        return r ?: syncer_start(&c->syncer);
}

static int consumer_loop(Consumer *c) {
        while (!is_done(c)) {
                struct epoll_event events[16];

                watchdog_beat(&c->watchdog, true);
                int n = epoll_wait(c->epoll_fd, events, ELEMENTSOF(events), -1);
                watchdog_beat(&c->watchdog, false);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (watchdog_has_expired(&c->watchdog))
                        return -ETIMEDOUT;
                /* The first ring event reads all rings that are ready. */
                bool has_ring = false;
                for (int i = 0; i < n; i++) {
                        Source source = (Source)events[i].data.u64;
                        int r = source == SOURCE_RING && has_ring
                                                ? 0
                                                : consumer_handle(c, source, events[i].events);

                        if (r < 0)
                                return r;
                        has_ring = has_ring || source == SOURCE_RING;
                }
                consumer_plan_sync(c);
                int r = answer_question(c);
                r = r ?: consumer_balance(c);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Discards everything that is left, and reports it. */
static void consumer_conclude(Consumer *c, int result) {
        int error = c->queue.error ?: result < 0 ? -result : 0;

        release_rings(c);
        inner_list_clear(&c->inner);
        queue_clear(&c->queue);
        if (c->queue.spool) {
                consumer_report_spool(c);
                spool_sink_close(&c->spool);
                error = error ?: syncer_get_error(&c->syncer);
        }
        consumer_answer_client(c, error, error ? strerror(error) : "", true);
        consumer_report(c, CONTROL_GONE, error, error ? strerror(error) : "");
}

int consumer_run(Consumer *c) {
        int r = consumer_loop(c);

        consumer_conclude(c, r);
        return r;
}
