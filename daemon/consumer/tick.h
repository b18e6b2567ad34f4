/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TICK_NSEC ((uint64_t)100 * 1000 * 1000)

/* Returns the length of the next ticks, in nanoseconds. found_bytes: what came in the time that has
 * passed. */
uint64_t tick_choose(unsigned n_cpus,
                size_t subbuf_size,
                uint64_t found_bytes,
                uint64_t passed_nsec);
