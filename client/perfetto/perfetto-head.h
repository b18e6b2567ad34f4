/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Converts the trace's clock to CLOCK_BOOTTIME, by which Perfetto counts. */
typedef struct PerfettoClock {
        const Decode *decode;
        int64_t boot_offset_ns;
} PerfettoClock;

/* Fails with KT_E_FAILED and a reason when the clock does not count nanoseconds. */
int perfetto_clock_init(PerfettoClock *clock, const Trace *trace, Reason *reason);

static inline uint64_t perfetto_clock_convert(const PerfettoClock *clock, uint64_t ts) {
        return ts + (uint64_t)clock->boot_offset_ns;
}

/* Appends a packet with the time by all known clocks. ts: by the trace's clock. */
void perfetto_clock_add_snapshot(const PerfettoClock *clock, TextBlock *block, uint64_t ts);

/* Appends the packets that must come before events: the machine, statistics and the receipt.
 * Returns 0 or -ENOMEM. */
int perfetto_head_add(const Trace *trace, TextBlock *block);
