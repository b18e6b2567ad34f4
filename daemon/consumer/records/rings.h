/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/records/guard.h"
#include "consumer/records/ring.h"
#include "consumer/records/watchdog.h"

/* The rings of all CPUs of one instance. */
typedef struct Rings {
        Ring *ring; /* n_cpus of them, in order */
        unsigned n_cpus, n_given;
        int percent_fd; /* the instance's buffer_percent */
        unsigned active_percent;
        Guard guard; /* for a fenced session */
        bool is_guarded;
} Rings;

/* The value before the first rings are taken. */
#define RINGS_NONE ((Rings){ .percent_fd = -1, .guard = GUARD_NONE })

/* n_subbufs: per ring. Fails with -ENOMEM. */
int rings_init(Rings *rings, unsigned n_cpus, uint64_t n_subbufs);
/* Takes the fds of one message: buffer_percent if first_cpu is 0, then raw and stats of each CPU.
 * The fds that are taken become -1. Fails with -EBADMSG. */
int rings_take(Rings *rings, unsigned first_cpu, unsigned n, int *fds, size_t n_fds);
/* Takes the fds of one message: tracing_on, and optionally the guard event's hist. Fails with
 * -EBADMSG. */
int rings_take_guard(Rings *rings, int *fds, size_t n_fds);
bool rings_are_complete(const Rings *rings);
/* Wakes by fill level, or (idle) by the first event. The caller must watch the rings again
 * afterwards. Returns -errno on failure. */
int rings_set_active(const Rings *rings, bool active);
/* data: for the epoll events. */
void rings_watch(const Rings *rings, int epoll_fd, uint64_t data, bool on);
/* From here on the side that takes the fds from the watchdog closes them. Fails with -ENOMEM. */
int rings_guard(Rings *rings, Watchdog *watchdog);
/* Closes the fds. Returns false when the watchdog has closed them. It has then informed the
 * daemon. */
bool rings_release(Rings *rings, Watchdog *watchdog);
