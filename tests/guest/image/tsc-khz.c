/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints how fast this machine's time stamp counter runs, in kHz, as the guest's does under
 * emulation. A guest on a busy machine that has to find it out by itself fails at it now and then,
 * and hangs. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t now_nsec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC_RAW, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(void) {
        uint64_t time = now_nsec(), ticks = __rdtsc();

        nanosleep(&(struct timespec){ .tv_nsec = 100 * 1000 * 1000 }, NULL);
        ticks = __rdtsc() - ticks;
        time = now_nsec() - time;
        printf("%llu\n", (unsigned long long)(ticks * 1000000 / time));
        return 0;
}
