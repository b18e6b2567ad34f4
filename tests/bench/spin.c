/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spin N [PER_MS [CPU]]: getppid N times, PER_MS of them each millisecond (0: as fast as it goes),
 * on CPU when given. Prints the nanoseconds of CPU time that a call takes, as the median over
 * batches: a batch that was disturbed does not count. What is traced in every benchmark. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH     20000
#define MS        1000000
#define BATCH_MAX 100000

static double batches[BATCH_MAX];

static int64_t now(clockid_t clock) {
        struct timespec ts;

        clock_gettime(clock, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static double calls(long n) {
        int64_t begin = now(CLOCK_THREAD_CPUTIME_ID);

        for (long i = 0; i < n; i++)
                syscall(SYS_getppid);
        return (double)(now(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)n;
}

static int compare(const void *a, const void *b) {
        return (*(const double *)a > *(const double *)b) -
               (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv) {
        long n = argc > 1 ? atol(argv[1]) : 0, rate = argc > 2 ? atol(argv[2]) : 0;
        long size = rate > 0 ? rate : BATCH;
        size_t n_batches = 0;
        int64_t next = now(CLOCK_MONOTONIC);

        if (argc > 3) {
                cpu_set_t set;

                CPU_ZERO(&set);
                CPU_SET((size_t)atol(argv[3]), &set);
                if (sched_setaffinity(0, sizeof(set), &set) < 0)
                        return 1;
        }
        for (; n > 0 && n_batches < BATCH_MAX; n -= size) {
                batches[n_batches++] = calls(n < size ? n : size);
                next += MS;
                if (rate > 0)
                        while (now(CLOCK_MONOTONIC) < next)
                                ;
        }
        if (n_batches == 0)
                return 2;
        qsort(batches, n_batches, sizeof(double), compare);
        printf("%.1f\n", batches[n_batches / 2]);
        return 0;
}
