/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A consumer's third thread: it calls fdatasync(2) and close(2) on files of the spool. Either call
 * can take as long as the disk needs. If the loop waited for them, the rings would overflow: with
 * rings of 256 kB every sync cost thousands of events. The consumer starts it before the sandbox,
 * which forbids new threads. For streams that go elsewhere it sleeps for ever.
 *
 * It relies on this behaviour of the kernel: write(2) does not report that the disk refused data
 * which an earlier write left in memory. Only a sync reports it, and only once. */

#include "consumer/syncer.h"

#include <errno.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)128 * 1024)

static void *syncer_run(void *userdata) {
        Syncer *syncer = userdata;

        sem_post(&syncer->is_up);
        pthread_mutex_lock(&syncer->lock);
        for (;;) {
                while (syncer->n_jobs == 0)
                        pthread_cond_wait(&syncer->changed, &syncer->lock);
                int fd = syncer->jobs[0].fd;
                bool syncs = syncer->jobs[0].syncs, closes = syncer->jobs[0].closes;

                pthread_mutex_unlock(&syncer->lock);
                int error = syncs && fdatasync(fd) < 0 ? errno : 0;
                if (closes && close(fd) < 0 && error == 0) /* of NFS */
                        error = errno;
                pthread_mutex_lock(&syncer->lock);
                if (syncer->error == 0)
                        syncer->error = error;
                for (unsigned i = 1; i < syncer->n_jobs; i++)
                        syncer->jobs[i - 1] = syncer->jobs[i];
                syncer->n_jobs--;
                pthread_cond_broadcast(&syncer->changed);
        }
        return NULL;
}

int syncer_start(Syncer *syncer) {
        pthread_attr_t attributes;
        pthread_t thread;

        *syncer = (Syncer){};
        pthread_mutex_init(&syncer->lock, NULL);
        pthread_cond_init(&syncer->changed, NULL);
        if (sem_init(&syncer->is_up, 0, 0) < 0)
                return -errno;
        int r = pthread_attr_init(&attributes);
        if (r != 0)
                return -r;
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES); /* the default is also fine */
        r = pthread_create(&thread, &attributes, syncer_run, syncer);
        (void)pthread_attr_destroy(&attributes);
        if (r != 0)
                return -r;
        /* The sandbox forbids system calls that a new thread makes at its start. */
        while (sem_wait(&syncer->is_up) < 0)
                ;
        return 0;
}

void syncer_push(Syncer *syncer, int fd, bool syncs, bool closes) {
        pthread_mutex_lock(&syncer->lock);
        while (syncer->n_jobs == SYNCER_JOBS_MAX)
                pthread_cond_wait(&syncer->changed, &syncer->lock);
        syncer->jobs[syncer->n_jobs].fd = fd;
        syncer->jobs[syncer->n_jobs].syncs = syncs;
        syncer->jobs[syncer->n_jobs].closes = closes;
        syncer->n_jobs++;
        pthread_cond_broadcast(&syncer->changed);
        pthread_mutex_unlock(&syncer->lock);
}

bool syncer_is_busy(Syncer *syncer) {
        pthread_mutex_lock(&syncer->lock);
        bool is_busy = syncer->n_jobs > 0;
        pthread_mutex_unlock(&syncer->lock);
        return is_busy;
}

bool syncer_has_room(Syncer *syncer) {
        pthread_mutex_lock(&syncer->lock);
        bool has_room = syncer->n_jobs < SYNCER_JOBS_MAX;
        pthread_mutex_unlock(&syncer->lock);
        return has_room;
}

void syncer_wait(Syncer *syncer) {
        pthread_mutex_lock(&syncer->lock);
        while (syncer->n_jobs > 0)
                pthread_cond_wait(&syncer->changed, &syncer->lock);
        pthread_mutex_unlock(&syncer->lock);
}

int syncer_get_error(Syncer *syncer) {
        pthread_mutex_lock(&syncer->lock);
        int error = syncer->error;
        pthread_mutex_unlock(&syncer->lock);
        return error;
}
