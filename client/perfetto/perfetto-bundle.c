/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Collects the records of each CPU in packets with one FtraceEventBundle, as Perfetto expects them,
 * and writes a packet when it is large. So memory does not grow with the recording. A bundle says
 * that events were lost before its first record. So a loss ends a bundle, and the next one says it.
 * Bundles do not have previous_bundle_end_timestamp: Perfetto drops all records before it. */

#include "perfetto/perfetto-bundle.h"

#include <errno.h>
#include <stdlib.h>

#include "perfetto/perfetto-packet.h"
#include "perfetto/proto.h"

enum {
        BUNDLE_CPU = 1,
        BUNDLE_LOST_EVENTS = 3,
};

#define BUNDLE_SIZE ((size_t)64 * 1024)

struct PerfettoLane {
        TextBlock block; /* one packet, or nothing */
        size_t packet, bundle;
        uint64_t last_ts;
        bool has_lost; /* since the last record */
};

int perfetto_bundles_init(PerfettoBundles *bundles, FILE *out) {
        *bundles = (PerfettoBundles){ .out = out,
                .lanes = calloc(PERFETTO_CPUS_MAX, sizeof(*bundles->lanes)) };
        return bundles->lanes ? 0 : -ENOMEM;
}

void perfetto_bundles_clear(PerfettoBundles *bundles) {
        for (size_t i = 0; bundles->lanes && i < PERFETTO_CPUS_MAX; i++)
                text_block_clear(&bundles->lanes[i].block);
        free(bundles->lanes);
        *bundles = (PerfettoBundles){};
}

static void perfetto_lane_open(PerfettoLane *lane, unsigned cpu) {
        lane->packet = perfetto_packet_open(&lane->block);
        lane->bundle = proto_open(&lane->block, PACKET_FTRACE_EVENTS);
        proto_add_number(&lane->block, BUNDLE_CPU, cpu);
        if (lane->has_lost)
                proto_add_number(&lane->block, BUNDLE_LOST_EVENTS, true);
        lane->has_lost = false;
}

static int perfetto_lane_write(PerfettoLane *lane, FILE *out) {
        if (lane->block.used > 0) {
                proto_close(&lane->block, lane->bundle);
                proto_close(&lane->block, lane->packet);
        }
        return text_block_write(&lane->block, out);
}

int perfetto_bundles_add(PerfettoBundles *bundles,
                PerfettoEvent *event,
                const Record *record,
                uint64_t ts) {
        PerfettoLane *lane = &bundles->lanes[record->cpu];

        if (lane->block.used == 0)
                perfetto_lane_open(lane, record->cpu);
        if (event && event->form == PERFETTO_DESCRIBED && !event->is_described) {
                perfetto_event_add_descriptor(event, &lane->block);
                event->is_described = true;
        }
        perfetto_event_add(event, &lane->block, record, ts);
        lane->last_ts = ts;
        return lane->block.used < BUNDLE_SIZE ? 0 : perfetto_lane_write(lane, bundles->out);
}

int perfetto_bundles_lose(PerfettoBundles *bundles, unsigned cpu, uint64_t *ret_from) {
        PerfettoLane *lane = &bundles->lanes[cpu];

        lane->has_lost = true;
        *ret_from = lane->last_ts;
        return perfetto_lane_write(lane, bundles->out);
}

int perfetto_bundles_finish(PerfettoBundles *bundles) {
        int r = 0;

        for (unsigned cpu = 0; r == 0 && cpu < PERFETTO_CPUS_MAX; cpu++) {
                PerfettoLane *lane = &bundles->lanes[cpu];

                /* A loss after the CPU's last record. */
                if (lane->has_lost)
                        perfetto_lane_open(lane, cpu);
                r = perfetto_lane_write(lane, bundles->out);
        }
        return r;
}
