/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/guard.h"
#include "consumer/ring.h"
#include "consumer/watchdog.h"

/* The rings of all CPUs of one instance. */
typedef struct Rings {
        Ring *ring; /* n_cpus of them, in order */
        unsigned n_cpus, n_given;
        int percent_fd; /* the instance's buffer_percent */
        unsigned active_percent;
        Guard guard; /* of a fenced session */
        bool is_guarded;
} Rings;

/* Before there are any. */
#define RINGS_NONE ((Rings){ .percent_fd = -1, .guard = GUARD_NONE })

/* n_subbufs: of one ring. -ENOMEM. */
int rings_init(Rings *rings, unsigned n_cpus, uint64_t n_subbufs);
/* The fds of one message: buffer_percent before those of CPU 0, then raw and stats of each; what is
 * taken of them is -1 afterwards. -EBADMSG. */
int rings_take(Rings *rings, unsigned first_cpu, unsigned n, int *fds, size_t n_fds);
/* Of one message: tracing_on, and the guard event's hist where there is one. -EBADMSG. */
int rings_take_guard(Rings *rings, int *fds, size_t n_fds);
bool rings_are_complete(const Rings *rings);
/* By fill level, or (idle) by the first event; to be watched anew after it. -errno. */
int rings_set_active(const Rings *rings, bool active);
/* data: of the epoll events. */
void rings_watch(const Rings *rings, int epoll_fd, uint64_t data, bool on);
/* From here on they are closed by whoever takes them from the watchdog. -ENOMEM. */
int rings_guard(Rings *rings, Watchdog *watchdog);
/* Closes them. False: the watchdog has, and has told the daemon. */
bool rings_release(Rings *rings, Watchdog *watchdog);
