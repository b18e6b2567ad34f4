/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Merges the recordings of several machines. Each one is in order, on the time line of the machine
 * that collected them; a heap has the recordings by the time of their next item.
 *
 * The true time of an item is within its bound. So the order of an item is not certain when the
 * latest true time of an earlier item, of another machine, is not before its own earliest one.
 *
 * The files may be hostile: they are parsed only by hosts_trace_load(), in a sealed process. A file
 * that cannot be read ends only its own lane. Owns the traces and their descriptors; borrows the
 * manifest. */

#include "hosts/hosts-trace.h"

#include <errno.h>
#include <string.h>

#include "hosts/hosts-directory.h"
#include "trace/inner-search.h"

/* The latest time at which an item of the lane may have been. */
typedef struct HostsLatest {
        const HostsLane *lane; /* NULL: no item yet */
        __int128 here;
} HostsLatest;

struct HostsTrace {
        const Manifest *manifest;
        HostsLane *lanes;
        size_t n_lanes;
        HostsLane **heap; /* by their times */
        size_t n_heap;
        HostsLane *last;       /* whose item was returned last; its next one is not read yet */
        HostsLatest latest[2]; /* of the items that were returned, of two lanes; largest first */
};

static const char *hosts_trace_describe(int error) {
        return error == -EBADMSG ? "packed data is damaged, or the file shrank"
               : error == -EFBIG ? "damaged: its CPUs would need too much memory"
                                 : strerror(-error);
}

/* Its items from here on are missing. */
static void hosts_trace_drop(const HostsTrace *hosts,
                HostsLane *lane,
                int error,
                const Reason *why) {
        (void)reason_set(&lane->failure,
                        error,
                        "%s: %s",
                        hosts->manifest->machines[lane->machine].file,
                        error > 0 ? why->text : hosts_trace_describe(error));
        lane->is_done = true;
}

static void hosts_trace_add(HostsTrace *hosts,
                int directory_fd,
                size_t machine,
                bool with_plugins) {
        HostsLane *lane = &hosts->lanes[hosts->n_lanes++];
        _cleanup_close_ int fd = -1;
        Reason why = {};

        lane->machine = machine;
        if (hosts_directory_open_file(
                            directory_fd, hosts->manifest, machine, &fd, &lane->failure) != 0) {
                lane->is_done = true;
                return;
        }
        int r = trace_prepare(fd, with_plugins, &lane->trace, &why);
        if (r != 0) {
                hosts_trace_drop(hosts, lane, r, &why);
                return;
        }
        lane->trace->fd = TAKE_FD(fd);
        lane->trace->owns_fd = true;
}

int hosts_trace_open(int directory_fd,
                const Manifest *manifest,
                bool with_plugins,
                HostsTrace **ret) {
        _cleanup_(hosts_trace_free_cleanup) HostsTrace *hosts = calloc(1, sizeof(*hosts));

        if (!hosts)
                return -ENOMEM;
        hosts->manifest = manifest;
        hosts->lanes = calloc(manifest->n_machines, sizeof(*hosts->lanes));
        hosts->heap = calloc(manifest->n_machines, sizeof(HostsLane *));
        if (!hosts->lanes || !hosts->heap)
                return -ENOMEM;
        for (size_t i = 0; i < manifest->n_machines; i++)
                if (hosts_directory_has(manifest, i))
                        hosts_trace_add(hosts, directory_fd, i, with_plugins);
        *ret = TAKE_PTR(hosts);
        return 0;
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

static void hosts_trace_advance(const HostsTrace *hosts, HostsLane *lane) {
        int r = trace_next(lane->trace, &lane->item);

        if (r < 0) {
                hosts_trace_drop(hosts, lane, r, NULL);
                return;
        }
        lane->is_done = lane->item.kind == TRACE_END;
        if (!lane->is_done)
                lane->bound = clock_track_get_bound(
                                lane->clock.track, lane->clock.kind, (int64_t)lane->item.record.ts);
}

void hosts_trace_load(HostsTrace *hosts) {
        for (size_t i = 0; i < hosts->n_lanes; i++) {
                HostsLane *lane = &hosts->lanes[i];
                Reason why = {};

                if (lane->is_done)
                        continue;
                int r = trace_load(lane->trace, &why);
                r = r
                                    ?: hosts_clock_set(&lane->clock,
                                                       hosts->manifest,
                                                       lane->machine,
                                                       lane->trace,
                                                       &why);
                r = r ?: inner_search(lane->trace);
                if (r != 0)
                        hosts_trace_drop(hosts, lane, r, &why);
        }
}

bool hosts_trace_has_failed(const HostsTrace *hosts) {
        for (size_t i = 0; i < hosts->n_lanes; i++)
                if (!hosts->lanes[i].failure.text[0])
                        return false;
        return hosts->n_lanes > 0;
}

int hosts_trace_select(HostsTrace *hosts, const Selection *selection, Reason *reason) {
        Selection fixed = hosts_clock_fix_selection(hosts->manifest, selection);
        bool has_any = false;
        int refusal = 0;

        for (size_t i = 0; i < hosts->n_lanes; i++) {
                HostsLane *lane = &hosts->lanes[i];

                if (lane->is_done)
                        continue;
                int r = selection_apply(&fixed, lane->trace, reason);
                if (r < 0)
                        hosts_trace_drop(hosts, lane, r, NULL);
                lane->is_done = r != 0;
                refusal = r > 0 ? r : refusal;
                has_any = has_any || r == 0;
        }
        return has_any ? 0 : refusal;
}

static void hosts_trace_fill(HostsTrace *hosts) {
        for (size_t i = 0; i < hosts->n_lanes; i++) {
                HostsLane *lane = &hosts->lanes[i];

                if (!lane->is_done)
                        hosts_trace_advance(hosts, lane);
                if (!lane->is_done)
                        hosts->heap[hosts->n_heap++] = lane;
        }
        for (size_t i = hosts->n_heap; i > 0; i--)
                hosts_trace_sink(hosts, i - 1);
}

/* The data of the last item is valid until now. */
static void hosts_trace_go_on(HostsTrace *hosts) {
        hosts_trace_advance(hosts, hosts->last);
        if (hosts->last->is_done)
                hosts->heap[0] = hosts->heap[--hosts->n_heap];
        if (hosts->n_heap > 0)
                hosts_trace_sink(hosts, 0);
}

static bool hosts_trace_is_uncertain(const HostsTrace *hosts, const HostsLane *lane) {
        const HostsLatest *other = &hosts->latest[hosts->latest[0].lane == lane];

        return other->lane && (__int128)lane->item.record.ts - lane->bound < other->here;
}

/* Two lanes are enough: at most one of them is the next item's own. */
static void hosts_trace_note(HostsTrace *hosts, const HostsLane *lane) {
        HostsLatest *latest = hosts->latest;
        HostsLatest new = { lane, (__int128)lane->item.record.ts + lane->bound };

        if (latest[0].lane == lane) {
                latest[0].here = MAX_OF(latest[0].here, new.here);
        } else if (!latest[0].lane || new.here > latest[0].here) {
                latest[1] = latest[0];
                latest[0] = new;
        } else if (!latest[1].lane || new.here > latest[1].here) {
                latest[1] = new;
        }
}

bool hosts_trace_next(HostsTrace *hosts, HostsItem *ret) {
        if (hosts->last)
                hosts_trace_go_on(hosts);
        else
                hosts_trace_fill(hosts);
        if (hosts->n_heap == 0)
                return false;
        HostsLane *lane = hosts->heap[0];
        *ret = (HostsItem){ .lane = lane,
                .bound = lane->bound,
                .is_uncertain = hosts_trace_is_uncertain(hosts, lane) };
        hosts_trace_note(hosts, lane);
        hosts->last = lane;
        return true;
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
