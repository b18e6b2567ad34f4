/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Merges the recordings of several machines. Each one is in order, on the time line of the machine
 * that collected them; a heap has the recordings by the time of their next item. The order of
 * two neighbours of different machines is not certain when they are closer than the bounds of both
 * together.
 *
 * The files may be hostile: they are parsed only by hosts_trace_load(), in a sealed process. Owns
 * the traces and their descriptors; borrows the manifest. */

#include "hosts/hosts-trace.h"

#include <errno.h>
#include <string.h>

#include "hosts/hosts-directory.h"

struct HostsTrace {
        const Manifest *manifest;
        HostsLane *lanes;
        size_t n_lanes;
        HostsLane **heap; /* by their times */
        size_t n_heap;
        HostsLane *last; /* whose item was returned last; its next one is not read yet */
        int64_t last_here, last_bound;
};

static int hosts_trace_refuse(const HostsTrace *hosts,
                size_t machine,
                int code,
                const char *why,
                Reason *reason) {
        return reason_set(reason,
                        code > 0 ? code : KT_E_FAILED,
                        "%s: %s",
                        hosts->manifest->machines[machine].file,
                        why);
}

static int hosts_trace_add(HostsTrace *hosts,
                int directory_fd,
                size_t machine,
                bool with_plugins,
                Reason *reason) {
        HostsLane *lane = &hosts->lanes[hosts->n_lanes];
        _cleanup_close_ int fd = -1;
        Reason why = {};
        int r = hosts_directory_open_file(directory_fd, hosts->manifest, machine, &fd, reason);

        if (r != 0)
                return r;
        r = trace_prepare(fd, with_plugins, &lane->trace, &why);
        if (r != 0)
                return hosts_trace_refuse(
                                hosts, machine, r, r < 0 ? strerror(-r) : why.text, reason);
        lane->trace->fd = TAKE_FD(fd);
        lane->trace->owns_fd = true;
        lane->machine = machine;
        hosts->n_lanes++;
        return 0;
}

int hosts_trace_open(int directory_fd,
                const Manifest *manifest,
                bool with_plugins,
                HostsTrace **ret,
                Reason *reason) {
        _cleanup_(hosts_trace_free_cleanup) HostsTrace *hosts = calloc(1, sizeof(*hosts));
        int r = 0;

        if (!hosts)
                return -ENOMEM;
        hosts->manifest = manifest;
        hosts->lanes = calloc(manifest->n_machines, sizeof(*hosts->lanes));
        hosts->heap = calloc(manifest->n_machines, sizeof(HostsLane *));
        if (!hosts->lanes || !hosts->heap)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < manifest->n_machines; i++)
                if (hosts_directory_has(manifest, i))
                        r = hosts_trace_add(hosts, directory_fd, i, with_plugins, reason);
        if (r == 0)
                *ret = TAKE_PTR(hosts);
        return r;
}

static bool hosts_lane_is_before(const HostsLane *a, const HostsLane *b) {
        uint64_t a_ts = a->item.record.ts, b_ts = b->item.record.ts;

        return a_ts < b_ts || (a_ts == b_ts && a->machine < b->machine);
}

/* The item at i may be later than those below it. */
static void hosts_trace_sink(HostsTrace *hosts, size_t i) {
        for (;;) {
                size_t child = 2 * i + 1;
                HostsLane *lane = hosts->heap[i];

                if (child + 1 < hosts->n_heap &&
                                hosts_lane_is_before(hosts->heap[child + 1], hosts->heap[child]))
                        child++;
                if (child >= hosts->n_heap || !hosts_lane_is_before(hosts->heap[child], lane))
                        return;
                hosts->heap[i] = hosts->heap[child];
                hosts->heap[child] = lane;
                i = child;
        }
}

static int hosts_lane_advance(const HostsTrace *hosts, HostsLane *lane) {
        int r = trace_next(lane->trace, &lane->item);

        if (r < 0)
                return r;
        lane->is_done = lane->item.kind == TRACE_END;
        if (!lane->is_done)
                lane->bound = clock_track_get_bound(&hosts->manifest->machines[lane->machine].clock,
                                (int64_t)lane->item.record.ts);
        return 0;
}

static int hosts_lane_load(const HostsTrace *hosts, HostsLane *lane, Reason *reason) {
        Reason why = {};
        int r = trace_load(lane->trace, &why);

        r = r ?: hosts_clock_set(&lane->clock, hosts->manifest, lane->machine, lane->trace, &why);
        return r == 0 ? 0
                      : hosts_trace_refuse(hosts,
                                        lane->machine,
                                        r,
                                        r < 0 ? strerror(-r) : why.text,
                                        reason);
}

int hosts_trace_load(HostsTrace *hosts, Reason *reason) {
        for (size_t i = 0; i < hosts->n_lanes; i++) {
                int r = hosts_lane_load(hosts, &hosts->lanes[i], reason);

                if (r != 0)
                        return r;
        }
        return 0;
}

int hosts_trace_select(HostsTrace *hosts, const Selection *selection, Reason *reason) {
        Selection fixed = hosts_clock_fix_selection(hosts->manifest, selection);
        size_t n_refused = 0;
        int refusal = 0;

        for (size_t i = 0; i < hosts->n_lanes; i++) {
                HostsLane *lane = &hosts->lanes[i];
                int r = selection_apply(&fixed, lane->trace, reason);

                if (r < 0)
                        return r;
                lane->is_done = r > 0;
                n_refused += r > 0;
                refusal = r > 0 ? r : refusal;
        }
        return n_refused == hosts->n_lanes ? refusal : 0;
}

static int hosts_trace_fill(HostsTrace *hosts) {
        for (size_t i = 0; i < hosts->n_lanes; i++) {
                int r = hosts->lanes[i].is_done ? 0 : hosts_lane_advance(hosts, &hosts->lanes[i]);

                if (r < 0)
                        return r;
                if (!hosts->lanes[i].is_done)
                        hosts->heap[hosts->n_heap++] = &hosts->lanes[i];
        }
        for (size_t i = hosts->n_heap; i > 0; i--)
                hosts_trace_sink(hosts, i - 1);
        return 0;
}

/* The data of the last item is valid until now. */
static int hosts_trace_go_on(HostsTrace *hosts) {
        int r = hosts_lane_advance(hosts, hosts->last);

        if (r < 0)
                return r;
        if (hosts->last->is_done)
                hosts->heap[0] = hosts->heap[--hosts->n_heap];
        if (hosts->n_heap > 0)
                hosts_trace_sink(hosts, 0);
        return 0;
}

int hosts_trace_next(HostsTrace *hosts, HostsItem *ret) {
        const HostsLane *before = hosts->last;
        int r = before ? hosts_trace_go_on(hosts) : hosts_trace_fill(hosts);

        if (r < 0 || hosts->n_heap == 0)
                return r;
        HostsLane *lane = hosts->heap[0];
        int64_t here = (int64_t)lane->item.record.ts;
        *ret = (HostsItem){ .lane = lane,
                .bound = lane->bound,
                .is_uncertain = before && before != lane &&
                                clock_is_uncertain(hosts->last_here,
                                                hosts->last_bound,
                                                here,
                                                lane->bound) };
        hosts->last = lane;
        hosts->last_here = here;
        hosts->last_bound = lane->bound;
        return 1;
}

size_t hosts_trace_get_n_lanes(const HostsTrace *hosts) {
        return hosts->n_lanes;
}

HostsLane *hosts_trace_get_lane(HostsTrace *hosts, size_t i) {
        return &hosts->lanes[i];
}

HostsTrace *hosts_trace_free(HostsTrace *hosts) {
        if (!hosts)
                return NULL;
        for (size_t i = 0; i < hosts->n_lanes; i++)
                trace_close(hosts->lanes[i].trace);
        free(hosts->lanes);
        free(hosts->heap);
        free(hosts);
        return NULL;
}
