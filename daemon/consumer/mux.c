/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The role of ktrace-consumer that reads one instance for several sessions, the viewers. The daemon
 * starts it with SHARE (control.h). Each batch of a ring is walked once (batch.c), and passed to
 * all viewers that have joined (audience.c).
 *
 * No viewer can delay this process: it writes only to pipes that do not block. Wake-ups are those
 * of a stream worker (consumer-wake.c): by fill level while there is much data, by the first event
 * when there was none.
 *
 * Viewers join and leave between two batches. First, all records that the rings hold are passed to
 * the viewers of that time. So a join shows no earlier record, a leave loses none, and the other
 * viewers notice neither. Events that the kernel lost are counted for all viewers of that time,
 * because the kernel does not report which events they were.
 *
 * A viewer that moves to another instance ends here. It gets its last records here, and the other
 * ones there (move.c).
 *
 * If this process is killed, the daemon starts another one, which gets the viewers before the rings
 * and continues (viewer.c). */

#include "consumer/mux.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/fd.h"
#include "consumer/mux/audience.h"
#include "consumer/mux/crowd.h"
#include "consumer/mux/move.h"
#include "consumer/order.h"
#include "consumer/records/ring.h"
#include "consumer/records/rings.h"
#include "consumer/sandbox.h"
#include "consumer/tick.h"
#include "consumer/title.h"
#include "interfaces/frame.h"

typedef enum MuxSource {
        MUX_CONTROL = 1,
        MUX_TIMER,
        MUX_RING,
} MuxSource;

/* Memory that was not used for so many ticks is given back. */
#define REST_TICKS 16

typedef struct Mux {
        int control_fd, epoll_fd, timer_fd;
        Rings rings;
        uint64_t *lost; /* per CPU: as the viewers know */
        uint32_t marker_id;
        uint64_t ring_bytes;
        Batch batch;
        Crowd crowd;
        Class *classes[SHARE_VIEWERS_MAX];
        MuxViewer *viewers[SHARE_VIEWERS_MAX];
        bool is_active, is_resting;
        uint64_t tick_nsec, found_bytes; /* since the last tick */
        unsigned n_ticks;
} Mux;

static void mux_set_tick(const Mux *mux, bool on) {
        const struct timespec interval = { .tv_nsec = on ? (long)mux->tick_nsec : 0 };
        const struct itimerspec spec = { interval, interval };

        (void)timerfd_settime(mux->timer_fd, 0, &spec, NULL); /* cannot fail with a valid spec */
}

static void mux_set_active(Mux *mux, bool active) {
        if (rings_set_active(&mux->rings, active) < 0)
                active = true; /* then only the timer reads the data */
        mux->is_active = active;
        mux->is_resting = false;
        rings_watch(&mux->rings, mux->epoll_fd, MUX_RING, true);
        mux_set_tick(mux, active);
}

static void mux_pass(Mux *mux, const Ring *ring, size_t size) {
        batch_index(&mux->batch, ring->cpu, size);
        /* A viewer that is the only one has the ring for itself. */
        if (audience_pass(mux->viewers, &mux->batch, ring->last.read) > 1)
                crowd_count(&mux->crowd, &mux->batch);
}

static MuxPlace mux_get_place(const Ring *ring) {
        return (MuxPlace){ ring->cpu, ring->last.read, ring_get_lost(ring) };
}

/* Everything that was read until now has been passed on. */
static void mux_count_lost(Mux *mux, const Ring *ring) {
        const MuxPlace place = mux_get_place(ring);

        if (place.lost == mux->lost[ring->cpu])
                return;
        mux->lost[ring->cpu] = place.lost;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (mux_viewer_is_joined(mux->viewers[i]))
                        mux_viewer_lose_until(mux->viewers[i], place);
}

/* Reads at most what the ring held at the beginning. The kernel's number of read records is known
 * before they are passed on: it is the viewers' place in the ring. */
static int mux_read_ring(Mux *mux, Ring *ring, bool only_full) {
        uint64_t bytes = 0;

        int r = ring_read_statistics(ring);
        if (r < 0)
                return r;
        crowd_note(&mux->crowd,
                        ring->last.bytes,
                        mux->ring_bytes,
                        ring_get_lost(ring) > mux->lost[ring->cpu]);
        mux_count_lost(mux, ring);
        uint64_t held = ring->last.read + ring->last.entries,
                 most = mux->ring_bytes + 4 * mux->batch.subbuf_size;
        size_t n_left = only_full ? ring_count_full(ring, mux->batch.subbuf_size)
                                  : SIZE_MAX / mux->batch.subbuf_size;
        while (n_left > 0 && bytes < most && (only_full || ring->last.read < held)) {
                ssize_t n = ring_read(ring,
                                mux->batch.bytes,
                                MIN_OF(SHARE_ENTRY_MAX, n_left * mux->batch.subbuf_size),
                                mux->batch.subbuf_size);

                if (n <= 0)
                        return (int)n;
                bytes += (uint64_t)n;
                n_left -= ((size_t)n + mux->batch.subbuf_size - 1) / mux->batch.subbuf_size;
                r = ring_read_statistics(ring);
                if (r < 0)
                        return r;
                mux_pass(mux, ring, (size_t)n);
        }
        mux->found_bytes += bytes;
        return 0;
}

static int mux_read(Mux *mux, bool only_full) {
        int r = 0;

        for (unsigned i = 0; r == 0 && i < mux->rings.n_given; i++)
                r = mux_read_ring(mux, &mux->rings.ring[i], only_full);
        return r;
}

static int mux_on_ring(Mux *mux) {
        bool was_active = mux->is_active;
        uint64_t found = mux->found_bytes;

        if (!was_active)
                mux_set_active(mux, true);
        int r = mux_read(mux, was_active);
        if (r == 0 && mux->found_bytes == found) { /* ready without data: the next tick reads it */
                rings_watch(&mux->rings, mux->epoll_fd, MUX_RING, false);
                mux->is_resting = true;
        }
        return r;
}

static void mux_collect(Mux *mux) {
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (mux->viewers[i])
                        mux_viewer_collect(mux->viewers[i]);
}

/* A page that is given back and used again costs more than the records in it. So memory is given
 * back when it was not used for some time, and when there is no more data. */
static void mux_rest(Mux *mux, bool is_idle) {
        if (!is_idle && ++mux->n_ticks % REST_TICKS != 0)
                return;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (mux->classes[i])
                        blocks_rest(&mux->classes[i]->blocks, is_idle);
}

/* Names a viewer that costs the others their records. The daemon need not be listening: this
 * process must not wait for it. */
static int mux_report_crowd(Mux *mux, uint64_t passed_nsec, bool is_idle) {
        crowd_pass_time(&mux->crowd, passed_nsec);
        ControlMessage message = { .version = CONTROL_VERSION,
                .type = CONTROL_CROWDED,
                .viewer = { .number = crowd_choose(&mux->crowd, mux->viewers) } };

        if (is_idle)
                crowd_forget(&mux->crowd);
        if (message.viewer.number == SHARE_VIEWERS_MAX)
                return 0;
        int r = fd_send(mux->control_fd, &message, sizeof(message), NULL, 0);
        return r == -EAGAIN ? 0 : r;
}

static int mux_on_tick(Mux *mux) {
        uint64_t count;

        if (read(mux->timer_fd, &count, sizeof(count)) < 0)
                return 0;
        uint64_t found = mux->found_bytes, tick_nsec = mux->tick_nsec;
        int r = mux_read(mux, false);
        if (r < 0)
                return r;
        bool has_found = mux->found_bytes > found || found > 0;
        mux_collect(mux);
        mux_rest(mux, !has_found);
        r = mux_report_crowd(mux, count * tick_nsec, !has_found);
        if (r < 0)
                return r;
        mux->tick_nsec = tick_choose(mux->rings.n_cpus,
                        mux->batch.subbuf_size,
                        mux->found_bytes,
                        count * tick_nsec);
        mux->found_bytes = 0;
        if (!has_found)
                mux_set_active(mux, false);
        else if (mux->is_resting)
                mux_set_active(mux, true);
        else if (mux->tick_nsec != tick_nsec)
                mux_set_tick(mux, true);
        return 0;
}

/* Messages of the daemon */

/* What an earlier reader had taken and not passed on is lost. */
static int mux_find_gaps(Mux *mux) {
        bool has_joined = false;

        for (unsigned i = 0; i < mux->rings.n_cpus; i++) {
                Ring *ring = &mux->rings.ring[i];
                int r = ring_read_statistics(ring);

                if (r < 0)
                        return r;
                const MuxPlace place = mux_get_place(ring);
                mux->lost[i] = place.lost;
                for (unsigned k = 0; k < SHARE_VIEWERS_MAX; k++)
                        if (mux_viewer_is_joined(mux->viewers[k])) {
                                mux_viewer_lose_until(mux->viewers[k], place);
                                has_joined = true;
                        }
        }
        mux_set_active(mux, has_joined); /* the next tick reads what is there */
        return 0;
}

static int mux_on_rings(Mux *mux, const ControlMessage *message, int *fds, size_t n_fds) {
        int r = rings_take(&mux->rings, message->rings.first_cpu, message->rings.n, fds, n_fds);

        return r < 0 || !rings_are_complete(&mux->rings) ? r : mux_find_gaps(mux);
}

/* An error must not end the other viewers: this viewer, or those of this class, are
 * refused. */
static void mux_refuse(const Mux *mux, const char *what, uint32_t number, int error) {
        char text[CONTROL_TEXT_MAX];

        (void)snprintf(text,
                        sizeof(text),
                        "%s %" PRIu32 " cannot be made: %s",
                        what,
                        number,
                        strerror(-error));
        order_report(mux->control_fd, CONTROL_REFUSED, -error, text);
}

static int mux_make_class(Mux *mux, const ControlMessage *message, int *fds) {
        uint32_t number = message->class.number;
        _cleanup_free_ char *metadata = NULL, *conditions = NULL;

        int r = fd_read_all(fds[0], FRAME_SIZE_MAX, &metadata, NULL);
        r = r ?: fd_read_all(fds[1], FRAME_SIZE_MAX, &conditions, NULL);
        const ClassSetup setup = {
                .id = number,
                .metadata = metadata,
                .conditions = conditions,
                .is_redacted = message->class.redacted,
                .marker_id = mux->marker_id,
        };
        return r ?: class_new(&setup, TAKE_FD(fds[2]), &mux->classes[number]);
}

static int mux_on_class(Mux *mux, const ControlMessage *message, int *fds, size_t n_fds) {
        uint32_t number = message->class.number;

        if (n_fds != 3 || number >= SHARE_VIEWERS_MAX ||
                        (mux->classes[number] && mux->classes[number]->n_viewers > 0))
                return -EBADMSG;
        mux->classes[number] = class_free(mux->classes[number]);
        int r = mux_make_class(mux, message, fds);
        if (r < 0)
                mux_refuse(mux, "class", number, r);
        return 0;
}

static int mux_say_left(const Mux *mux, uint32_t number) {
        ControlMessage answer = { .type = CONTROL_LEFT, .viewer = { .number = number } };

        return order_answer(mux->control_fd, &answer);
}

static int mux_on_viewer(Mux *mux, const ControlMessage *message, int *fds, size_t n_fds) {
        uint32_t number = message->viewer.number, class = message->viewer.class;

        if (n_fds != 3 || number >= SHARE_VIEWERS_MAX || mux->viewers[number] ||
                        class >= SHARE_VIEWERS_MAX)
                return -EBADMSG;
        if (!mux->classes[class]) /* it was refused */
                return mux_say_left(mux, number);
        const MuxViewerFiles files = { TAKE_FD(fds[0]), TAKE_FD(fds[1]), TAKE_FD(fds[2]) };
        int r = mux_viewer_new(
                        mux->classes[class], &files, mux->rings.n_cpus, &mux->viewers[number]);
        if (r == 0) {
                if (message->viewer.is_moved)
                        move_arrive(mux->viewers[number]);
                return 0;
        }
        mux_refuse(mux, "viewer", number, r);
        return mux_say_left(mux, number);
}

/* The last viewer of a class takes the class with it. */
static void mux_end_viewer(Mux *mux, uint32_t number) {
        Class *class = mux->viewers[number]->class;

        mux->viewers[number] = mux_viewer_free(mux->viewers[number]);
        if (class->n_viewers == 0)
                mux->classes[class->id] = class_free(class);
}

/* Another daemon took over. The viewers of sessions that do not continue end. */
static int mux_on_adopt(Mux *mux, uint64_t viewers) {
        ControlMessage answer = { .type = CONTROL_ADOPTED,
                .adopted = { .is_reading = rings_are_complete(&mux->rings) } };

        for (uint32_t i = 0; i < SHARE_VIEWERS_MAX; i++) {
                if (mux->viewers[i] && !(viewers >> i & 1))
                        mux_end_viewer(mux, i);
                if (mux->viewers[i])
                        answer.adopted.viewers |= UINT64_C(1) << i;
        }
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (mux->classes[i] && mux->classes[i]->n_viewers == 0)
                        mux->classes[i] = class_free(mux->classes[i]);
        return order_answer(mux->control_fd, &answer);
}

static int mux_switch_viewer(Mux *mux, uint32_t number, bool on) {
        ControlMessage answer = { .type = on ? CONTROL_JOINED : CONTROL_LEFT,
                .viewer = { .number = number } };

        int r = mux_read(mux, false);
        if (r < 0)
                return r;
        /* A question that an earlier reader did not answer is asked again. */
        for (unsigned i = 0;
                        on && !mux_viewer_is_joined(mux->viewers[number]) && i < mux->rings.n_given;
                        i++)
                mux_viewer_set_place(mux->viewers[number], mux_get_place(&mux->rings.ring[i]));
        mux_viewer_join(mux->viewers[number], on);
        /* A tick follows, because the rings may be empty and yet hold a sub-buffer's rest. */
        if (rings_are_complete(&mux->rings) && !mux->is_active)
                mux_set_active(mux, true);
        return order_answer(mux->control_fd, &answer);
}

static uint64_t mux_read_clock(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return control_nsec(&now);
}

/* The rings are read twice: those that had no record in the whole time between are cut at its end.
 */
static int mux_read_for_move(Mux *mux, MuxViewer *viewer, uint64_t nsec) {
        uint64_t begin = mux_read_clock();

        move_begin(viewer, nsec);
        int r = mux_read(mux, false);
        uint64_t passed = mux_read_clock() - begin;
        r = r ?: mux_read(mux, false);
        if (r == 0)
                move_end(viewer, passed);
        return r;
}

/* An earlier reader may have been killed before it could answer. */
static int mux_on_move(Mux *mux, uint32_t number, uint64_t nsec) {
        ControlMessage answer = { .type = CONTROL_MOVED, .viewer = { .number = number } };
        MuxViewer *viewer = mux->viewers[number];

        if (!viewer->memory->has_moved) {
                if (nsec == 0 || !rings_are_complete(&mux->rings))
                        return -EBADMSG;
                if (viewer->class->n_viewers > 1) /* its pool cannot go with it */
                        return mux_say_left(mux, number);
                int r = mux_read_for_move(mux, viewer, nsec);
                if (r < 0)
                        return r;
        }
        mux_end_viewer(mux, number); /* the next reader takes the lock of the memory */
        return order_answer(mux->control_fd, &answer);
}

/* Viewers with equal sets use the same object, so that they get the same pieces. */
static EventSet *mux_share_set(const Mux *mux, EventSet *set) {
        for (unsigned i = 0; set && i < SHARE_VIEWERS_MAX; i++)
                if (mux->viewers[i] && event_set_is_same(mux->viewers[i]->off, set)) {
                        event_set_drop(set);
                        return event_set_hold(mux->viewers[i]->off);
                }
        return set;
}

/* What was recorded before belongs to the events that were on until now. */
static int mux_on_events(Mux *mux, uint32_t number, const int *fds, size_t n_fds) {
        EventSet *set = NULL;

        int r = mux_read(mux, false);
        r = r < 0 || n_fds == 0 ? r : event_set_read(fds[0], &set);
        if (r < 0)
                return r;
        set = mux_share_set(mux, set);
        event_set_drop(mux->viewers[number]->off);
        mux->viewers[number]->off = set;
        return 0;
}

static int mux_handle(Mux *mux, const ControlMessage *message, int *fds, size_t n_fds) {
        uint32_t number = message->viewer.number;

        switch (message->type) {
        case CONTROL_RINGS:
                return mux_on_rings(mux, message, fds, n_fds);
        case CONTROL_CLASS:
                return mux_on_class(mux, message, fds, n_fds);
        case CONTROL_VIEWER:
                return mux_on_viewer(mux, message, fds, n_fds);
        case CONTROL_ADOPT:
                return mux_on_adopt(mux, message->adopt.viewers);
        case CONTROL_EVENTS:
        case CONTROL_JOIN:
        case CONTROL_LEAVE:
        case CONTROL_UNVIEW:
        case CONTROL_MOVE:
                if (number >= SHARE_VIEWERS_MAX)
                        return -EBADMSG;
                if (!mux->viewers[number]) /* it was refused, and the daemon knows */
                        return 0;
                if (message->type == CONTROL_EVENTS)
                        return mux_on_events(mux, number, fds, n_fds);
                if (message->type == CONTROL_MOVE)
                        return mux_on_move(mux, number, message->viewer.nsec);
                if (message->type != CONTROL_UNVIEW)
                        return mux_switch_viewer(mux, number, message->type == CONTROL_JOIN);
                mux_end_viewer(mux, number);
                return 0;
        default:
                return -EBADMSG;
        }
}

static int mux_on_control(Mux *mux) {
        int fds[FD_SEND_MAX];
        ControlMessage message;
        size_t n_fds = 0;

        ssize_t n = fd_receive(
                        mux->control_fd, &message, sizeof(message), fds, ELEMENTSOF(fds), &n_fds);
        if (n == -EAGAIN)
                return 0;
        if (n <= 0)
                return n < 0 ? (int)n : -ECANCELED;
        int r = n == sizeof(message) && message.version == CONTROL_VERSION
                                ? mux_handle(mux, &message, fds, n_fds)
                                : -EBADMSG;
        for (size_t i = 0; i < n_fds; i++)
                close_cleanup(&fds[i]);
        return r;
}

static int mux_loop(Mux *mux) {
        for (;;) {
                struct epoll_event events[16];
                bool has_ring = false;

                int n = epoll_wait(mux->epoll_fd, events, ELEMENTSOF(events), -1);
                if (n < 0 && errno != EINTR)
                        return -errno;
                for (int i = 0; i < n; i++) {
                        int r = 0;

                        if (events[i].data.u64 == MUX_CONTROL)
                                r = mux_on_control(mux);
                        else if (events[i].data.u64 == MUX_TIMER)
                                r = mux_on_tick(mux);
                        else if (!has_ring) { /* the first one reads all rings */
                                r = mux_on_ring(mux);
                                has_ring = true;
                        }
                        if (r < 0)
                                return r;
                }
        }
}

static int mux_watch(const Mux *mux, int fd, MuxSource source) {
        struct epoll_event event = { .events = EPOLLIN, .data.u64 = source };

        return epoll_ctl(mux->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int mux_init(Mux *mux, const ControlMessage *order) {
        size_t subbuf_size = order->share.subbuf_size;
        uint32_t n_cpus = order->share.n_cpus;

        if (n_cpus == 0 || n_cpus > SHARE_CPUS_MAX || subbuf_size < SHARE_BLOCK_SIZE ||
                        SHARE_ENTRY_MAX % subbuf_size != 0)
                return -EBADMSG;
        mux->marker_id = order->share.marker_id;
        mux->ring_bytes = order->share.buffer_bytes;
        mux->tick_nsec = TICK_NSEC;
        mux->lost = calloc(n_cpus, sizeof(*mux->lost));
        if (!mux->lost)
                return -ENOMEM;
        int r = batch_init(&mux->batch, subbuf_size);
        r = r ?: crowd_init(&mux->crowd);
        r = r ?: rings_init(&mux->rings, n_cpus, order->share.buffer_bytes / subbuf_size);
        if (r < 0)
                return r;
        mux->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        mux->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (mux->epoll_fd < 0 || mux->timer_fd < 0)
                return -errno;
        r = mux_watch(mux, mux->control_fd, MUX_CONTROL);
        return r ?: mux_watch(mux, mux->timer_fd, MUX_TIMER);
}

static int mux_begin(Mux *mux) {
        ControlMessage order;

        int r = order_take(mux->control_fd, CONTROL_SHARE, &order, NULL, 0);
        r = r ?: mux_init(mux, &order);
        r = r ?: sandbox_close(SANDBOX_MUX);
        if (r == 0)
                order_report(mux->control_fd, CONTROL_READY, 0, "");
        return r;
}

static void mux_clear(Mux *mux) {
        for (uint32_t i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (mux->viewers[i])
                        mux_end_viewer(mux, i);
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                class_free(mux->classes[i]);
        for (unsigned i = 0; i < mux->rings.n_given; i++)
                ring_close(&mux->rings.ring[i]);
        free(mux->rings.ring);
        close_cleanup(&mux->rings.percent_fd);
        close_cleanup(&mux->epoll_fd);
        close_cleanup(&mux->timer_fd);
        free(mux->lost);
        batch_clear(&mux->batch);
        crowd_clear(&mux->crowd);
}

void mux_run(int control_fd) {
        Mux mux = { .control_fd = control_fd, .epoll_fd = -1, .timer_fd = -1, .rings = RINGS_NONE };

        title_set("shared instance");
        int r = mux_begin(&mux);
        r = r ?: mux_loop(&mux);
        if (r != -ECANCELED)
                order_report(control_fd, CONTROL_REFUSED, -r, strerror(-r));
        mux_clear(&mux);
}
