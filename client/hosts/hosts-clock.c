/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts the times of one machine's recording, for hosts-trace.c and hosts-archive.c. Only
 * CLOCK_MONOTONIC and CLOCK_BOOTTIME were compared with the clocks of other machines. */

#include "hosts/hosts-clock.h"

#include <string.h>

static uint64_t hosts_clock_convert(const void *userdata, uint64_t ts) {
        const HostsClock *clock = userdata;
        int64_t here = 0;

        (void)clock_track_convert(clock->track, clock->kind, ts, &here);
        return (uint64_t)here;
}

int hosts_clock_set(HostsClock *clock,
                const Manifest *manifest,
                size_t machine,
                Trace *trace,
                Reason *reason) {
        const char *name = trace->decode->clock;
        TraceTimeline timeline = { .convert = hosts_clock_convert,
                .userdata = clock,
                .knots = clock->knots,
                .n_knots = manifest->machines[machine].clock.n,
                .wall_offset_ns = manifest->realtime_offset };

        if (strcmp(name, "mono") != 0 && strcmp(name, "boot") != 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "its clock (%s) cannot be compared with those of other machines: "
                                "record with --clock mono or boot",
                                name[0] ? name : "unknown");
        *clock = (HostsClock){ .track = &manifest->machines[machine].clock,
                .kind = *name == 'm' ? CLOCK_KIND_MONO : CLOCK_KIND_BOOT };
        if (clock->track->n == 0)
                return reason_set(reason, KT_E_FAILED, "its clocks were never compared");
        for (size_t i = 0; i < timeline.n_knots; i++)
                clock->knots[i] = clock_track_get_there(clock->track, clock->kind, i);
        trace_set_timeline(trace, &timeline);
        return 0;
}

Selection hosts_clock_fix_selection(const Manifest *manifest, const Selection *selection) {
        Selection fixed = selection ? *selection : (Selection){};
        SelectionTime *times[] = { &fixed.from, &fixed.until };
        int64_t start = manifest->start, end = manifest->end;

        for (size_t i = 0; start > 0 && i < ELEMENTSOF(times); i++)
                if (times[i]->kind == SELECTION_TIME_RELATIVE)
                        *times[i] = (SelectionTime){ SELECTION_TIME_TRACE,
                                (uint64_t)start + times[i]->ns };
        if (end > 0 && fixed.last_ns > 0) {
                uint64_t last = MIN_OF(fixed.last_ns, (uint64_t)end);

                fixed.from = (SelectionTime){ SELECTION_TIME_TRACE, (uint64_t)end - last };
                fixed.last_ns = 0;
        }
        return fixed;
}
