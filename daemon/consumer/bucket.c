/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Limits a stream's bytes per second with a token bucket, which saves up at most one second of
 * quiet time. The consumer uses it for whole sub-buffers. It reads no clock: the caller passes the
 * time. */

#include "consumer/bucket.h"

#include "interfaces/cleanup.h"

#define NSEC_PER_SEC ((uint64_t)1000 * 1000 * 1000)
#define RATE_MAX     (UINT64_MAX / NSEC_PER_SEC) /* the product for one second must fit: 18 GB/s */

void bucket_init(Bucket *bucket, uint64_t rate, uint64_t size_min, uint64_t now_nsec) {
        *bucket = (Bucket){ .rate = MIN_OF(rate, RATE_MAX), .filled_nsec = now_nsec };
        bucket->size = bucket->level = MAX_OF(bucket->rate, size_min);
}

void bucket_fill(Bucket *bucket, uint64_t now_nsec) {
        if (bucket->rate == 0 || now_nsec <= bucket->filled_nsec)
                return;
        uint64_t elapsed = now_nsec - bucket->filled_nsec;
        uint64_t bytes = MIN_OF(elapsed, NSEC_PER_SEC) * bucket->rate / NSEC_PER_SEC;

        if (elapsed < NSEC_PER_SEC && bytes == 0) /* keep fractions of a byte for the next call */
                return;
        bucket->filled_nsec = now_nsec;
        bucket->level = MIN_OF(bucket->size, bucket->level + bytes);
}

bool bucket_take(Bucket *bucket, uint64_t bytes) {
        if (bucket->rate == 0)
                return true;
        if (bucket->level < bytes)
                return false;
        bucket->level -= bytes;
        return true;
}
