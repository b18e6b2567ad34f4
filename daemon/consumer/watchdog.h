/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Whoever takes the fds out of it closes them: the loop when all goes well, else the watchdog. */
typedef struct Watchdog {
        int control_fd, epoll_fd;
        sem_t is_up;
        atomic_uint n_beats;     /* the loop goes on */
        atomic_bool loop_sleeps; /* in epoll_wait: waits for nobody */
        atomic_bool is_ending;   /* the loop was told to, or the daemon has gone */
        atomic_bool has_bitten;  /* the fds were closed behind the loop's back */
        _Atomic(int *) fds;      /* what keeps the instance in the kernel, ends with -1 */
} Watchdog;

/* Before the sandbox: its thread must be there before threads are forbidden. */
int watchdog_start(Watchdog *watchdog, int control_fd);
/* fds ends with -1; malloc'd, the watchdog's from now on. */
void watchdog_guard(Watchdog *watchdog, int *fds);
/* Closes them, unless it was done. False: the watchdog has, and has told the daemon. */
bool watchdog_release(Watchdog *watchdog);

static inline void watchdog_beat(Watchdog *watchdog, bool loop_sleeps) {
        atomic_fetch_add_explicit(&watchdog->n_beats, 1, memory_order_relaxed);
        atomic_store_explicit(&watchdog->loop_sleeps, loop_sleeps, memory_order_relaxed);
}

/* From now on a loop that hangs keeps the rings no longer. */
static inline void watchdog_expect_end(Watchdog *watchdog) {
        atomic_store(&watchdog->is_ending, true);
}

static inline bool watchdog_has_bitten(Watchdog *watchdog) {
        return atomic_load(&watchdog->has_bitten);
}
