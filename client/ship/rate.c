/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Delays of ktrace-ship: the limit of the bandwidth, and the pauses after failures. */

#include "ship/rate.h"

#include <sys/random.h>
#include <time.h>

#include "interfaces/cleanup.h"

#define USEC_PER_SEC       UINT64_C(1000000)
#define SLICE_USEC         (USEC_PER_SEC / 2)
#define BACKOFF_FIRST_USEC USEC_PER_SEC
#define BACKOFF_DOUBLES    6 /* 64 s */

static uint64_t rate_get_now(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

void rate_sleep(uint64_t usec, void (*on_wait)(void *userdata), void *userdata) {
        while (usec > 0) {
                uint64_t slice = MIN_OF(usec, SLICE_USEC);
                const struct timespec time = {
                        .tv_sec = (time_t)(slice / USEC_PER_SEC),
                        .tv_nsec = (long)(slice % USEC_PER_SEC) * 1000,
                };

                (void)nanosleep(&time, NULL); /* too short after a signal, which does no harm */
                on_wait(userdata);
                usec -= slice;
        }
}

/* An idle line saves nothing up. */
void rate_wait(Rate *rate, uint64_t bytes, void (*on_wait)(void *userdata), void *userdata) {
        uint64_t now = rate_get_now();

        if (rate->bytes_per_sec == 0)
                return;
        if (rate->free_usec > now)
                rate_sleep(rate->free_usec - now, on_wait, userdata);
        rate->free_usec = MAX_OF(rate->free_usec, now) + bytes * USEC_PER_SEC / rate->bytes_per_sec;
}

uint64_t backoff_next_usec(Backoff *backoff) {
        uint64_t usec = BACKOFF_FIRST_USEC << MIN_OF(backoff->n_failures, BACKOFF_DOUBLES);
        uint64_t random = 0;

        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
                random = 0; /* the shortest delay */
        backoff->n_failures++;
        return usec / 2 + random % (usec / 2 + 1);
}

void backoff_reset(Backoff *backoff) {
        backoff->n_failures = 0;
}
