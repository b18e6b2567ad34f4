/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes arrays grow by one element at a time. Called by readers of files and of streams, which
 * learn only at the end how many elements there are. The room doubles at the powers of two, so the
 * number of elements alone tells when to enlarge it. Owns nothing: the caller limits the number and
 * frees the array. */

#include "interfaces/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int array_grow(void *array, size_t n, size_t size) {
        void **at = array;

        if ((n & (n - 1)) == 0) { /* 0 or a power of two: the room is full */
                void *grown = reallocarray(*at, n > 0 ? 2 * n : 1, size);

                if (!grown)
                        return -ENOMEM;
                *at = grown;
        }
        memset((char *)*at + n * size, 0, size);
        return 0;
}
