/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The consumer's second thread: it releases the rings when the loop hangs in the kernel. The
 * consumer starts it before the sandbox. It owns the fds of the rings together with the loop.
 *
 * No examination of a sink can show whether a write to it will return. Example: the buffer of a
 * pipe's reader is a mapped file of a FUSE server that does not answer. The reader sleeps in
 * read(2) and holds the pipe's lock. A writer of the same file sleeps and holds the lock of the
 * inode. The consumer's write then waits for that lock, and even SIGKILL does not end it. Killing
 * such a process closes none of its fds, and an open trace_pipe_raw prevents the removal of the
 * instance. But another thread of the process can close them.
 *
 * The watchdog checks only when the daemon sends a message or hangs up. So an idle consumer has no
 * second wake-up. A slow sink does not matter until the session ends, because the kernel counts
 * what is lost. A loop that hangs cannot read the message that ends it, so the watchdog searches
 * the waiting messages. After the sandbox it only waits, peeks, closes and sends. It allocates
 * nothing. */

#include "consumer/records/watchdog.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "interfaces/control.h"

/* All looks together take half of the time in which the daemon expects the rings back. One look is
 * not enough: its result is wrong when the whole process was stopped during it. */
#define LOOK_MSEC   2500
#define N_LOOKS     2
#define STACK_BYTES ((size_t)256 * 1024)

/* Returns true when the loop stays in one call other than the one that waits for work. */
static bool loop_hangs(Watchdog *watchdog) {
        for (int i = 0; i < N_LOOKS; i++) {
                unsigned n_beats = atomic_load(&watchdog->n_beats);

                (void)poll(NULL, 0, LOOK_MSEC);
                if (n_beats != atomic_load(&watchdog->n_beats) ||
                                atomic_load(&watchdog->loop_sleeps))
                        return false;
        }
        return true;
}

/* SO_PEEK_OFF advances over messages that were peeked at, and goes back when the loop reads a
 * message. */
static bool is_end_wanted(Watchdog *watchdog) {
        ControlMessage message;
        struct iovec part = { &message, sizeof(message) };
        struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
        ssize_t n;

        if (atomic_load(&watchdog->is_ending))
                return true;
        do
                n = recvmsg(watchdog->control_fd, &header, MSG_PEEK | MSG_DONTWAIT);
        while ((n > 0 && (n != sizeof(message) || message.type != CONTROL_FINISH)) ||
                        (n < 0 && errno == EINTR));
        return n >= 0; /* 0: the daemon has hung up */
}

bool watchdog_release(Watchdog *watchdog) {
        int *fds = atomic_exchange(&watchdog->fds, NULL);

        for (size_t i = 0; fds && fds[i] >= 0; i++)
                close(fds[i]);
        free(fds);
        return !watchdog_has_expired(watchdog);
}

static void bite(Watchdog *watchdog) {
        ControlMessage message = {
                .type = CONTROL_RELEASED,
                .version = CONTROL_VERSION,
                .status = { .error = ETIMEDOUT, .text = "the sink does not answer" },
        };
        int *fds = atomic_exchange(&watchdog->fds, NULL);

        if (!fds) /* the loop was faster */
                return;
        atomic_store(&watchdog->has_expired, true);
        for (size_t i = 0; fds[i] >= 0; i++)
                close(fds[i]); /* fds is not freed: the loop may hold the heap's lock */
        (void)fd_send(watchdog->control_fd, &message, sizeof(message), NULL, 0); /* may be gone */
}

static void *watchdog_run(void *p) {
        Watchdog *watchdog = p;
        struct epoll_event event;

        sem_post(&watchdog->is_up);
        for (;;) {
                if (epoll_wait(watchdog->epoll_fd, &event, 1, -1) < 0)
                        continue;
                while (atomic_load(&watchdog->fds)) {
                        if (loop_hangs(watchdog)) {
                                if (is_end_wanted(watchdog))
                                        bite(watchdog);
                        } else if (atomic_load(&watchdog->loop_sleeps))
                                break;
                }
        }
        return NULL;
}

int watchdog_start(Watchdog *watchdog, int control_fd) {
        /* Only edges wake the watchdog, because the loop reads the messages. */
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };
        const int none = 0;
        pthread_attr_t attributes;
        pthread_t thread;

        *watchdog = (Watchdog){ .control_fd = control_fd };
        if (sem_init(&watchdog->is_up, 0, 0) < 0 ||
                        setsockopt(control_fd, SOL_SOCKET, SO_PEEK_OFF, &none, sizeof(none)) < 0)
                return -errno;
        watchdog->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (watchdog->epoll_fd < 0 ||
                        epoll_ctl(watchdog->epoll_fd, EPOLL_CTL_ADD, control_fd, &event) < 0)
                return -errno;
        int r = pthread_attr_init(&attributes);
        if (r != 0)
                return -r;
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES); /* the default is also fine */
        r = pthread_create(&thread, &attributes, watchdog_run, watchdog);
        (void)pthread_attr_destroy(&attributes);
        if (r != 0)
                return -r;
        /* The sandbox forbids system calls that a new thread makes at its start. */
        while (sem_wait(&watchdog->is_up) < 0)
                ;
        return 0;
}

void watchdog_guard(Watchdog *watchdog, int *fds) {
        atomic_store(&watchdog->fds, fds);
}
