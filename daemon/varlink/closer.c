/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A thread that closes sockets whose close may block. A client may send any descriptor over its
 * connection. Even if we never receive it, the kernel drops it with the socket, in the task that
 * closes the socket, and releases the file if no other descriptor refers to it. A TCP socket with
 * SO_LINGER set and a peer that does not read then blocks for as long as its creator chose, up to
 * 18 hours; other files can block in other ways. So sockets that carried descriptors are closed
 * here, and only those: a client that blocks the thread delays only other clients that also sent
 * descriptors.
 *
 * The thread sleeps in a killable state, and a process that exits does not linger (tcp_close). The
 * thread is created for the first socket, with all signals blocked. */

#include "varlink/closer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/log.h"

typedef struct Closing {
        TAILQ_ENTRY(Closing) entry;
        int sock;
        VarlinkClosed closed;
        void *userdata;
} Closing;

TAILQ_HEAD(ClosingList, Closing);

struct VarlinkCloser {
        pthread_mutex_t lock;
        pthread_cond_t wake;
        pthread_t thread;
        struct ClosingList open, closed; /* protected by the lock, like all below */
        bool has_thread, is_busy;
        bool is_abandoned; /* the thread frees everything when close() returns */
};

static void free_list(struct ClosingList *list) {
        Closing *closing;

        while ((closing = TAILQ_FIRST(list))) {
                TAILQ_REMOVE(list, closing, entry);
                free(closing);
        }
}

static void free_all(VarlinkCloser *closer) {
        free_list(&closer->open);
        free_list(&closer->closed);
        pthread_cond_destroy(&closer->wake);
        pthread_mutex_destroy(&closer->lock);
        free(closer);
}

static void *closer_run(void *userdata) {
        VarlinkCloser *closer = userdata;
        Closing *closing;

        pthread_mutex_lock(&closer->lock);
        while (!closer->is_abandoned) {
                closing = TAILQ_FIRST(&closer->open);
                if (!closing) {
                        pthread_cond_wait(&closer->wake, &closer->lock);
                        continue;
                }
                TAILQ_REMOVE(&closer->open, closing, entry);
                closer->is_busy = true;
                pthread_mutex_unlock(&closer->lock);
                close(closing->sock);
                pthread_mutex_lock(&closer->lock);
                closer->is_busy = false;
                TAILQ_INSERT_TAIL(&closer->closed, closing, entry);
        }
        pthread_mutex_unlock(&closer->lock);
        free_all(closer);
        return NULL;
}

int varlink_closer_new(VarlinkCloser **ret) {
        VarlinkCloser *closer = calloc(1, sizeof(*closer));

        if (!closer)
                return -ENOMEM;
        pthread_mutex_init(&closer->lock, NULL);
        pthread_cond_init(&closer->wake, NULL);
        TAILQ_INIT(&closer->open);
        TAILQ_INIT(&closer->closed);
        *ret = closer;
        return 0;
}

VarlinkCloser *varlink_closer_free(VarlinkCloser *closer) {
        bool has_thread, is_busy;
        pthread_t thread;

        if (!closer)
                return NULL;
        pthread_mutex_lock(&closer->lock);
        has_thread = closer->has_thread;
        is_busy = closer->is_busy;
        thread = closer->thread;
        closer->is_abandoned = true;
        pthread_cond_signal(&closer->wake);
        pthread_mutex_unlock(&closer->lock);
        /* If a thread exists, it owns the closer from here on. */
        if (!has_thread)
                free_all(closer);
        else if (is_busy)
                pthread_detach(thread);
        else
                pthread_join(thread, NULL);
        return NULL;
}

static int start_thread(VarlinkCloser *closer) {
        sigset_t all, before;
        int r;

        if (closer->has_thread)
                return 0;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&closer->thread, NULL, closer_run, closer);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        closer->has_thread = r == 0;
        return -r;
}

void varlink_closer_add(VarlinkCloser *closer, int sock, VarlinkClosed closed, void *userdata) {
        Closing *closing = malloc(sizeof(*closing));

        if (!closing)
                return;
        *closing = (Closing){ .sock = sock, .closed = closed, .userdata = userdata };
        pthread_mutex_lock(&closer->lock);
        TAILQ_INSERT_TAIL(&closer->open, closing, entry);
        int r = start_thread(closer);
        pthread_cond_signal(&closer->wake);
        pthread_mutex_unlock(&closer->lock);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "varlink: no thread that closes sockets");
}

void varlink_closer_reap(VarlinkCloser *closer) {
        struct ClosingList closed = TAILQ_HEAD_INITIALIZER(closed);
        Closing *closing;

        pthread_mutex_lock(&closer->lock);
        TAILQ_CONCAT(&closed, &closer->closed, entry);
        pthread_mutex_unlock(&closer->lock);
        TAILQ_FOREACH(closing, &closed, entry)
                closing->closed(closing->userdata);
        free_list(&closed);
}
