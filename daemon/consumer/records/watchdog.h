/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The side that takes the fds out of it must close them: the loop in the normal case, else the
 * watchdog. */
typedef struct Watchdog {
        int control_fd, epoll_fd;
        sem_t is_up;
        atomic_uint n_beats;     /* changes while the loop makes progress */
        atomic_bool loop_sleeps; /* the loop waits for work in epoll_wait() */
        atomic_bool is_ending;   /* the loop got its order to end, or the daemon has gone */
        atomic_bool has_expired; /* the watchdog has closed the fds */
        _Atomic(int *) fds;      /* the fds that keep the instance in the kernel, ends with -1 */
} Watchdog;

/* Must be called before the sandbox forbids new threads. */
int watchdog_start(Watchdog *watchdog, int control_fd);
/* fds: from malloc(), ends with -1. The watchdog owns it from now on. */
void watchdog_guard(Watchdog *watchdog, int *fds);
/* Closes the fds, if they are open. Returns false when the watchdog has closed them. It has then
 * informed the daemon. */
bool watchdog_release(Watchdog *watchdog);

static inline void watchdog_beat(Watchdog *watchdog, bool loop_sleeps) {
        atomic_fetch_add_explicit(&watchdog->n_beats, 1, memory_order_relaxed);
        atomic_store_explicit(&watchdog->loop_sleeps, loop_sleeps, memory_order_relaxed);
}

/* From now on a loop that hangs no longer keeps the rings. */
static inline void watchdog_expect_end(Watchdog *watchdog) {
        atomic_store(&watchdog->is_ending, true);
}

static inline bool watchdog_has_expired(Watchdog *watchdog) {
        return atomic_load(&watchdog->has_expired);
}
