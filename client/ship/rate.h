/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How fast data may be sent. */
typedef struct Rate {
        uint64_t bytes_per_sec; /* 0: no limit */
        uint64_t free_usec;     /* CLOCK_MONOTONIC: when the line is free again */
} Rate;

/* Waits until so many bytes may be sent. on_wait is called at least twice a second. */
void rate_wait(Rate *rate, uint64_t bytes, void (*on_wait)(void *userdata), void *userdata);

/* The delay before the next try after failures: doubled each time, and random, so that many hosts
 * do not come back at once. */
typedef struct Backoff {
        unsigned n_failures;
} Backoff;

/* Returns the delay, and counts a failure. */
uint64_t backoff_next_usec(Backoff *backoff);
void backoff_reset(Backoff *backoff);
/* Sleeps; on_wait as above. */
void rate_sleep(uint64_t usec, void (*on_wait)(void *userdata), void *userdata);
