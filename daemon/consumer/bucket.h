/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A limit of bytes per second. At most the bytes of one second can be taken at once. */
typedef struct Bucket {
        uint64_t rate; /* 0: no limit */
        uint64_t size, level;
        uint64_t filled_nsec; /* time of the last fill */
} Bucket;

/* size_min: a piece of this size fits at any rate. */
void bucket_init(Bucket *bucket, uint64_t rate, uint64_t size_min, uint64_t now_nsec);
void bucket_fill(Bucket *bucket, uint64_t now_nsec);
/* Takes the bytes. Returns false when the bucket has less. */
bool bucket_take(Bucket *bucket, uint64_t bytes);
