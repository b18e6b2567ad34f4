/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides what wakes a stream, and how often. It is a part of ktrace-consumer, called by consumer.c
 * and, to watch their own descriptors, by its other parts. Owns the state of the ticks and of what
 * is watched. It reads no records.
 *
 * When idle, the consumer sleeps in epoll, and the instance's buffer_percent is 0. Then
 * the first event wakes the consumer, and nothing else does. When active, buffer_percent is
 * ACTIVE_PERCENT, so that the kernel wakes the consumer only by fill level (a wake-up for each
 * event makes the producer 17 times slower). A timer flushes slow data. A tick that finds no data
 * makes the consumer idle again. Ticks are short while a terminal or a pipe gets little data,
 * so that its reader sees events soon, and long otherwise, because each tick costs CPU time. A ring
 * that is ready but returns no data is ignored until the next tick. rings.c describes how the
 * kernel handles buffer_percent. */

#include "consumer/consumer-wake.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "consumer/tick.h"

int consumer_watch(Consumer *c, int fd, Source source, uint32_t events) {
        struct epoll_event event = { .events = events, .data.u64 = source };

        return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void consumer_unwatch(Consumer *c, int fd) {
        (void)epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* it may not be watched */
}

/* The daemon's pipe is always watched, to notice when its reader closes it: epoll reports EPOLLERR
 * without a request (epoll_ctl(2)). Other sinks are watched only while they take no data. */
static int consumer_watch_sink(Consumer *c, bool is_waiting) {
        struct epoll_event event = { .events = is_waiting ? EPOLLOUT : 0, .data.u64 = SOURCE_SINK };

        if (c->queue.kind == OUTLET_OWN_PIPE)
                return epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, c->queue.fd, &event) < 0 ? -errno : 0;
        if (is_waiting)
                return consumer_watch(c, c->queue.fd, SOURCE_SINK, EPOLLOUT);
        consumer_unwatch(c, c->queue.fd);
        return 0;
}

/* Chooses the length of the ticks for the data that came since the last choice. */
static void consumer_choose_tick(Consumer *c, uint64_t n_ticks) {
        bool has_waiter = c->has_sink && !c->queue.spool && c->queue.kind == OUTLET_OWN_PIPE;

        c->tick_nsec = has_waiter ? tick_choose(c->pump.rings.n_cpus,
                                                    c->pump.subbuf_size,
                                                    c->pump.found_bytes,
                                                    n_ticks * c->tick_nsec)
                                  : TICK_NSEC;
        c->pump.found_bytes = 0;
}

static void consumer_set_tick(Consumer *c, bool on) {
        const struct timespec interval = { .tv_nsec = on ? (long)c->tick_nsec : 0 };
        const struct itimerspec spec = { interval, interval };

        (void)timerfd_settime(c->timer_fd, 0, &spec, NULL); /* cannot fail with a valid spec */
}

void consumer_watch_rings(Consumer *c, bool on) {
        const View *view = &c->pump.view;

        if (!view->is_open) {
                rings_watch(&c->pump.rings, c->epoll_fd, SOURCE_RING, on);
                return;
        }
        if (view->entries_fd < 0)
                return;
        consumer_unwatch(c, view->entries_fd);
        if (on && !view->is_over)
                (void)consumer_watch(c, view->entries_fd, SOURCE_RING, EPOLLIN);
}

void consumer_set_active(Consumer *c, bool active) {
        if (c->is_released)
                return;
        if (active && !c->is_active) {
                c->pump.found_bytes = 0;
                consumer_choose_tick(c, 0);
        }
        if (!c->pump.view.is_open && rings_set_active(&c->pump.rings, active) < 0)
                active = true; /* then only the timer reads the data */
        c->is_active = active;
        c->is_resting = false;
        consumer_watch_rings(c, !c->sink_is_watched);
        consumer_set_tick(c, active && !c->sink_is_watched);
}

void consumer_rest(Consumer *c) {
        consumer_watch_rings(c, false);
        c->is_resting = true;
}

void consumer_settle_tick(Consumer *c, uint64_t n_ticks) {
        uint64_t tick_nsec = c->tick_nsec;

        consumer_choose_tick(c, n_ticks);
        if (!c->pump.found_any)
                consumer_set_active(c, false);
        else if (c->is_resting)
                consumer_set_active(c, true);
        else if (c->tick_nsec != tick_nsec)
                consumer_set_tick(c, true);
}

void consumer_begin_linger(Consumer *c) {
        consumer_watch_rings(c, false);
        c->tick_nsec = TICK_NSEC;
        consumer_set_tick(c, true);
}

int consumer_balance(Consumer *c) {
        bool is_waiting = !queue_is_empty(&c->queue);

        if (is_waiting == c->sink_is_watched || (c->queue.fd < 0 && !c->queue.spool) ||
                        c->queue.error != 0)
                return 0;
        int r = 0;
        if (c->queue.spool) /* consumer_on_tick() tries again */
                c->n_spool_ticks = 0;
        else
                r = consumer_watch_sink(c, is_waiting);
        c->sink_is_watched = is_waiting;
        if (!c->is_released && rings_are_complete(&c->pump.rings)) {
                consumer_watch_rings(c, !is_waiting);
                consumer_set_tick(c, c->queue.spool || (c->is_active && !is_waiting));
        }
        return r;
}
