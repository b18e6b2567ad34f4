/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Merges the recordings of several machines. Each one is in order; a heap has the recordings by the
 * time of their next item, converted to the clock of the machine that collected them. The order of
 * two neighbours of different machines is not certain when they are closer than the bounds of both
 * together.
 *
 * The files may be hostile: they are parsed only by fleet_trace_load(), in a sealed process. Owns
 * the traces and their descriptors; borrows the manifest. */

#include "fleet/fleet-trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct FleetTrace {
        const Manifest *manifest;
        FleetLane *lanes;
        size_t n_lanes;
        FleetLane **heap; /* by their times */
        size_t n_heap;
        FleetLane *last; /* whose item was returned last; its next one is not read yet */
        int64_t last_here, last_bound;
};

static int fleet_trace_refuse(const FleetTrace *fleet,
                size_t machine,
                int code,
                const char *why,
                Reason *reason) {
        return reason_set(reason,
                        code > 0 ? code : KT_E_FAILED,
                        "%s: %s",
                        fleet->manifest->machines[machine].file,
                        why);
}

static int fleet_trace_add(FleetTrace *fleet,
                int directory_fd,
                size_t machine,
                bool with_plugins,
                Reason *reason) {
        FleetLane *lane = &fleet->lanes[fleet->n_lanes];
        _cleanup_close_ int fd = openat(directory_fd,
                        fleet->manifest->machines[machine].file,
                        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
        Reason why = {};
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fleet_trace_refuse(fleet, machine, 0, strerror(errno), reason);
        if (!S_ISREG(st.st_mode))
                return fleet_trace_refuse(fleet, machine, 0, "it is not a regular file", reason);
        r = trace_prepare(fd, with_plugins, &lane->trace, &why);
        if (r != 0)
                return fleet_trace_refuse(
                                fleet, machine, r, r < 0 ? strerror(-r) : why.text, reason);
        lane->trace->fd = TAKE_FD(fd);
        lane->trace->owns_fd = true;
        lane->machine = machine;
        fleet->n_lanes++;
        return 0;
}

int fleet_trace_open(int directory_fd,
                const Manifest *manifest,
                bool with_plugins,
                FleetTrace **ret,
                Reason *reason) {
        _cleanup_(fleet_trace_free_cleanup) FleetTrace *fleet = calloc(1, sizeof(*fleet));
        int r = 0;

        if (!fleet)
                return -ENOMEM;
        fleet->manifest = manifest;
        fleet->lanes = calloc(manifest->n_machines, sizeof(*fleet->lanes));
        fleet->heap = calloc(manifest->n_machines, sizeof(FleetLane *));
        if (!fleet->lanes || !fleet->heap)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < manifest->n_machines; i++)
                if (manifest->machines[i].file && manifest->machines[i].clock.n > 0)
                        r = fleet_trace_add(fleet, directory_fd, i, with_plugins, reason);
        if (r == 0)
                *ret = TAKE_PTR(fleet);
        return r;
}

static bool fleet_lane_is_before(const FleetLane *a, const FleetLane *b) {
        return a->here < b->here || (a->here == b->here && a->machine < b->machine);
}

/* The item at i may be later than those below it. */
static void fleet_trace_sink(FleetTrace *fleet, size_t i) {
        for (;;) {
                size_t child = 2 * i + 1;
                FleetLane *lane = fleet->heap[i];

                if (child + 1 < fleet->n_heap &&
                                fleet_lane_is_before(fleet->heap[child + 1], fleet->heap[child]))
                        child++;
                if (child >= fleet->n_heap || !fleet_lane_is_before(fleet->heap[child], lane))
                        return;
                fleet->heap[i] = fleet->heap[child];
                fleet->heap[child] = lane;
                i = child;
        }
}

static int fleet_lane_advance(const FleetTrace *fleet, FleetLane *lane) {
        int r = trace_next(lane->trace, &lane->item);

        if (r < 0)
                return r;
        lane->is_done = lane->item.kind == TRACE_END;
        if (lane->is_done)
                return 0;
        return clock_track_convert(&fleet->manifest->machines[lane->machine].clock,
                        lane->kind,
                        lane->item.record.ts,
                        &lane->here,
                        &lane->bound);
}

static int fleet_lane_load(const FleetTrace *fleet, FleetLane *lane, Reason *reason) {
        Reason why = {};
        int r = trace_load(lane->trace, &why);

        if (r != 0)
                return fleet_trace_refuse(
                                fleet, lane->machine, r, r < 0 ? strerror(-r) : why.text, reason);
        const char *clock = lane->trace->decode->clock;
        if (strcmp(clock, "mono") != 0 && strcmp(clock, "boot") != 0)
                return fleet_trace_refuse(fleet,
                                lane->machine,
                                0,
                                "its clock cannot be compared with those of other machines",
                                reason);
        lane->kind = *clock == 'm' ? CLOCK_KIND_MONO : CLOCK_KIND_BOOT;
        /* Times are now those of the machine that collected the files. */
        lane->trace->decode->has_wall = true;
        lane->trace->decode->wall_offset_ns = fleet->manifest->realtime_offset;
        return 0;
}

int fleet_trace_load(FleetTrace *fleet, Reason *reason) {
        for (size_t i = 0; i < fleet->n_lanes; i++) {
                int r = fleet_lane_load(fleet, &fleet->lanes[i], reason);

                if (r != 0)
                        return r;
        }
        return 0;
}

static int fleet_trace_fill(FleetTrace *fleet) {
        for (size_t i = 0; i < fleet->n_lanes; i++) {
                int r = fleet_lane_advance(fleet, &fleet->lanes[i]);

                if (r < 0)
                        return r;
                if (!fleet->lanes[i].is_done)
                        fleet->heap[fleet->n_heap++] = &fleet->lanes[i];
        }
        for (size_t i = fleet->n_heap; i > 0; i--)
                fleet_trace_sink(fleet, i - 1);
        return 0;
}

/* The data of the last item is valid until now. */
static int fleet_trace_go_on(FleetTrace *fleet) {
        int r = fleet_lane_advance(fleet, fleet->last);

        if (r < 0)
                return r;
        if (fleet->last->is_done)
                fleet->heap[0] = fleet->heap[--fleet->n_heap];
        if (fleet->n_heap > 0)
                fleet_trace_sink(fleet, 0);
        return 0;
}

int fleet_trace_next(FleetTrace *fleet, FleetItem *ret) {
        const FleetLane *before = fleet->last;
        int r = before ? fleet_trace_go_on(fleet) : fleet_trace_fill(fleet);

        if (r < 0 || fleet->n_heap == 0)
                return r;
        FleetLane *lane = fleet->heap[0];
        *ret = (FleetItem){ .lane = lane,
                .ts = (uint64_t)lane->here,
                .bound = lane->bound,
                .is_uncertain = before && before != lane &&
                                clock_is_uncertain(fleet->last_here,
                                                fleet->last_bound,
                                                lane->here,
                                                lane->bound) };
        fleet->last = lane;
        fleet->last_here = lane->here;
        fleet->last_bound = lane->bound;
        return 1;
}

size_t fleet_trace_get_n_lanes(const FleetTrace *fleet) {
        return fleet->n_lanes;
}

FleetLane *fleet_trace_get_lane(FleetTrace *fleet, size_t i) {
        return &fleet->lanes[i];
}

FleetTrace *fleet_trace_free(FleetTrace *fleet) {
        if (!fleet)
                return NULL;
        for (size_t i = 0; i < fleet->n_lanes; i++)
                trace_close(fleet->lanes[i].trace);
        free(fleet->lanes);
        free(fleet->heap);
        free(fleet);
        return NULL;
}
