/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The pids that a container uses for the tasks of a trace, by task and time. inner-search.c makes
 * the table. Owned by the Decode, which the printers ask for each record. */

#include "trace/inner-pids.h"

#include <errno.h>
#include <stdlib.h>

struct InnerPids {
        InnerLife *lives; /* sorted by tid, then time */
        size_t n;
};

int inner_pids_new(InnerLife *lives, size_t n, InnerPids **ret) {
        InnerPids *inner = malloc(sizeof(*inner));

        if (!inner) {
                free(lives);
                return -ENOMEM;
        }
        *inner = (InnerPids){ lives, n };
        *ret = inner;
        return 0;
}

InnerPids *inner_pids_free(InnerPids *inner) {
        if (inner)
                free(inner->lives);
        free(inner);
        return NULL;
}

uint32_t inner_pids_find(const InnerPids *inner, int pid, uint64_t ts) {
        uint32_t tid = (uint32_t)pid;
        size_t low = 0, high = inner ? inner->n : 0;

        while (low < high) { /* the first one that begins later */
                size_t middle = low + (high - low) / 2;
                const InnerLife *life = &inner->lives[middle];

                if (life->tid < tid || (life->tid == tid && life->from <= ts))
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == 0 || inner->lives[low - 1].tid != tid || ts > inner->lives[low - 1].until)
                return 0;
        return inner->lives[low - 1].inner;
}
