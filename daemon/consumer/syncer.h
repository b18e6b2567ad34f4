/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#define SYNCER_JOBS_MAX 8

/* The thread of a consumer that waits for the disk instead of its loop. */
typedef struct Syncer {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        sem_t is_up;

        struct {
                int fd;
                bool syncs, closes;
        } jobs[SYNCER_JOBS_MAX]; /* in order; the thread works on the first */

        unsigned n_jobs;
        int error; /* the first that the disk reported; 0: none */
} Syncer;

/* Must be called before the sandbox. */
int syncer_start(Syncer *syncer);
/* Syncs and closes the file in the thread, as requested. Waits only when SYNCER_JOBS_MAX files are
 * pending. */
void syncer_push(Syncer *syncer, int fd, bool syncs, bool closes);
bool syncer_is_busy(Syncer *syncer);
/* Returns whether the next push does not wait. */
bool syncer_has_room(Syncer *syncer);
/* Waits until all files are done. */
void syncer_wait(Syncer *syncer);
/* Returns the first error (positive) of a sync or close so far: data that was written is lost. */
int syncer_get_error(Syncer *syncer);
