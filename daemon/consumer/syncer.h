/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#define SYNCER_JOBS_MAX 8

/* The thread of a consumer that waits for the disk, so that its loop need not. */
typedef struct Syncer {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        sem_t is_up;

        struct {
                int fd;
                bool syncs, closes;
        } jobs[SYNCER_JOBS_MAX]; /* in order; the first is being done */

        unsigned n_jobs;
} Syncer;

/* Before the sandbox. */
int syncer_start(Syncer *syncer);
/* What was written to it lasts, as soon as the disk has it; then it is closed. Waits only where the
 * disk is behind by SYNCER_JOBS_MAX files. */
void syncer_push(Syncer *syncer, int fd, bool syncs, bool closes);
bool syncer_is_busy(Syncer *syncer);
/* The next push does not wait. */
bool syncer_has_room(Syncer *syncer);
/* Until all is done. */
void syncer_wait(Syncer *syncer);
