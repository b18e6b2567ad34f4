/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Handles the rings of an instance together: takes them from the daemon's messages, watches them
 * and releases them. The consumer's loop uses it. It owns the fds until the watchdog has them.
 *
 * It relies on kernel/trace/ring_buffer.c: the kernel picks the wait queue of a ring by
 * buffer_percent when the poll begins. epoll polls with a queue only when an fd is added. So each
 * change removes the rings and adds them again. The kernel counts the sub-buffer that is being
 * written as a full one: a ring of four is always at 25 %. So small rings have a higher mark. */

#include "consumer/records/rings.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

#define ACTIVE_PERCENT 25

/* The percentage for at least two of this number of sub-buffers. */
static unsigned count_percent(uint64_t n_subbufs) {
        if (n_subbufs < 2)
                return 100;
        return MAX_OF(ACTIVE_PERCENT, (unsigned)(100 / n_subbufs + 1));
}

int rings_init(Rings *rings, unsigned n_cpus, uint64_t n_subbufs) {
        Ring *ring = calloc(n_cpus, sizeof(*ring));

        if (!ring)
                return -ENOMEM;
        for (unsigned i = 0; i < n_cpus; i++)
                ring[i] = (Ring){ .cpu = i, .raw_fd = -1, .stats_fd = -1 };
        *rings = (Rings){
                .ring = ring,
                .n_cpus = n_cpus,
                .percent_fd = -1,
                .guard = GUARD_NONE,
                .active_percent = count_percent(n_subbufs),
        };
        return 0;
}

int rings_take(Rings *rings, unsigned first_cpu, unsigned n, int *fds, size_t n_fds) {
        size_t at = first_cpu == 0 ? 1 : 0;

        if (first_cpu != rings->n_given || n == 0 || n > rings->n_cpus - rings->n_given ||
                        n_fds != at + 2 * (size_t)n)
                return -EBADMSG;
        if (at == 1)
                rings->percent_fd = TAKE_FD(fds[0]);
        for (unsigned i = 0; i < n; i++) {
                Ring *ring = &rings->ring[rings->n_given++];

                ring->raw_fd = TAKE_FD(fds[at]);
                ring->stats_fd = TAKE_FD(fds[at + 1]);
                at += 2;
        }
        return 0;
}

int rings_take_guard(Rings *rings, int *fds, size_t n_fds) {
        if (n_fds < 1 || n_fds > 2 || rings->guard.tracing_fd >= 0 || rings->n_given > 0)
                return -EBADMSG;
        rings->guard.tracing_fd = TAKE_FD(fds[0]);
        if (n_fds == 2)
                rings->guard.hist_fd = TAKE_FD(fds[1]);
        return 0;
}

bool rings_are_complete(const Rings *rings) {
        return rings->n_cpus > 0 && rings->n_given == rings->n_cpus;
}

int rings_set_active(const Rings *rings, bool active) {
        char percent[16];

        int n = snprintf(percent, sizeof(percent), "%u", active ? rings->active_percent : 0);
        return write(rings->percent_fd, percent, (size_t)n) < 0 ? -errno : 0;
}

/* A CPU that is possible and was never online has no ring, and its file is always ready. The ticks
 * find its first records. */
static bool rings_has_ring(int fd) {
        struct pollfd file = { .fd = fd };

        return poll(&file, 1, 0) <= 0 || (file.revents & POLLERR) == 0;
}

void rings_watch(const Rings *rings, int epoll_fd, uint64_t data, bool on) {
        struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };

        for (unsigned i = 0; i < rings->n_given; i++) {
                int fd = rings->ring[i].raw_fd;

                if (fd < 0)
                        continue;
                (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* it may not be watched */
                if (on && rings_has_ring(fd)) /* the flush timer reads the others */
                        (void)epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
        }
}

int rings_guard(Rings *rings, Watchdog *watchdog) {
        int *fds = calloc(2 * (size_t)rings->n_cpus + 4, sizeof(*fds));
        size_t n = 0;

        if (!fds)
                return -ENOMEM;
        for (unsigned i = 0; i < rings->n_cpus; i++) {
                fds[n++] = rings->ring[i].raw_fd;
                fds[n++] = rings->ring[i].stats_fd;
        }
        fds[n++] = rings->percent_fd;
        if (rings->guard.tracing_fd >= 0)
                fds[n++] = rings->guard.tracing_fd;
        if (rings->guard.hist_fd >= 0)
                fds[n++] = rings->guard.hist_fd;
        fds[n] = -1;
        rings->is_guarded = true;
        watchdog_guard(watchdog, fds);
        return 0;
}

bool rings_release(Rings *rings, Watchdog *watchdog) {
        for (unsigned i = 0; i < rings->n_given; i++) {
                if (rings->is_guarded) /* the watchdog closes them */
                        rings->ring[i].raw_fd = rings->ring[i].stats_fd = -1;
                ring_close(&rings->ring[i]);
        }
        if (rings->is_guarded) {
                rings->percent_fd = -1;
                rings->guard = GUARD_NONE;
        }
        close_cleanup(&rings->percent_fd);
        close_cleanup(&rings->guard.tracing_fd);
        close_cleanup(&rings->guard.hist_fd);
        return !rings->is_guarded || watchdog_release(watchdog);
}
