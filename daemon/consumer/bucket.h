/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* So many bytes a second, and one second's in one go. */
typedef struct Bucket {
        uint64_t rate; /* 0: no limit */
        uint64_t size, level;
        uint64_t filled_nsec; /* when last */
} Bucket;

/* size_min: of what must fit at any rate. */
void bucket_init(Bucket *bucket, uint64_t rate, uint64_t size_min, uint64_t now_nsec);
void bucket_fill(Bucket *bucket, uint64_t now_nsec);
/* False: it has less than that. */
bool bucket_take(Bucket *bucket, uint64_t bytes);
