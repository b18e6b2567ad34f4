/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How often the rings are read while there is data: soon when there is little, so that its reader
 * sees events soon, and rarely otherwise, because each tick costs CPU time. Used by consumer-wake.c
 * and mux.c. */

#include "consumer/tick.h"

#include "interfaces/cleanup.h"

#define SHORT_NSEC ((uint64_t)10 * 1000 * 1000)
/* A tick reads each CPU's counters and ring. With many CPUs short ticks are longer. */
#define CPU_NSEC ((uint64_t)100 * 1000)
/* The most data of a short tick, for each CPU. */
#define SHORT_SUBBUFS 2

uint64_t tick_choose(unsigned n_cpus,
                size_t subbuf_size,
                uint64_t found_bytes,
                uint64_t passed_nsec) {
        uint64_t shortest = SHORT_NSEC + CPU_NSEC * n_cpus;
        uint64_t most = (uint64_t)SHORT_SUBBUFS * n_cpus * subbuf_size;
        uint64_t n_shortest = MAX_OF(passed_nsec / shortest, (uint64_t)1);

        return found_bytes / n_shortest <= most ? MIN_OF(shortest, TICK_NSEC) : TICK_NSEC;
}
