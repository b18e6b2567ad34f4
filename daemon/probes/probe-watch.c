/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notices that other programs have removed our definitions. A reset of tracefs removes the probes
 * of all programs ('trace-cmd reset' does this, after it has disabled them in all instances). Made
 * by probe-set.c with the first definition. It runs in the event loop, except for one step that
 * reads the kernel's lists.
 *
 * A write to one of those lists, also by the daemon, wakes the watch. It compares the earlier state
 * with the list. Sessions that use a lost probe end: the kernel has wiped their ring buffers, and a
 * new definition of the event gets another number than the one in their streams. A user's probe
 * without a holder is defined again, because no session depends on its number. */

#include "probes/probe-watch.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "kernel/probe-group.h"
#include "kernel/watch.h"
#include "probes/probe-set.h"

#define WAIT_USEC 20000

struct ProbeWatch {
        ProbeSet *set;
        Watch *watch;
        sd_event_source *source, *timer;
        bool is_due; /* the timer is on */
        bool is_due_again;
        bool in_flight;
        bool is_orphan; /* freed when the plan has ended */
        Plan plan;
        char *lists[_PROBE_KIND_N];
};

static int step_read(void *context, Reason *reason _unused_) {
        ProbeWatch *watch = context;
        int r = 0;

        for (ProbeKind kind = 0; r == 0 && kind < _PROBE_KIND_N; kind++)
                r = probe_read_list(watch->set->tracefs, kind, &watch->lists[kind]);
        return r;
}

static void free_lists(ProbeWatch *watch) {
        for (ProbeKind kind = 0; kind < _PROBE_KIND_N; kind++) {
                free(watch->lists[kind]);
                watch->lists[kind] = NULL;
        }
}

static void probe_watch_look_soon(ProbeWatch *watch) {
        if (watch->in_flight) {
                watch->is_due_again = true;
                return;
        }
        if (watch->is_due)
                return;
        watch->is_due = true;
        (void)sd_event_source_set_time_relative(watch->timer, WAIT_USEC);
        (void)sd_event_source_set_enabled(watch->timer, SD_EVENT_ONESHOT);
}

static bool is_lost(const ProbeWatch *watch, const Probe *probe) {
        _cleanup_free_ char *line = NULL;

        return probe->is_awaited && !probe->in_plan && atomic_load(&probe->stands) &&
               probe_list_find(watch->lists[probe->kind],
                               probe->group,
                               probe->definition->name,
                               &line) == 0 &&
               !line;
}

/* on_lost may change the list: handle one probe, then start again. */
static Probe *probe_watch_find_lost(const ProbeWatch *watch) {
        Probe *probe;

        TAILQ_FOREACH(probe, &watch->set->list, probes)
                if (is_lost(watch, probe))
                        return probe;
        return NULL;
}

static void probe_watch_compare(ProbeWatch *watch) {
        ProbeSet *set = watch->set;
        Probe *probe;

        while ((probe = probe_watch_find_lost(watch))) {
                probe->is_awaited = false;
                if (atomic_load(&probe->n_users) > 0)
                        set->on_lost(probe, true, NULL, set->userdata);
                else if (!probe->source)
                        probe_submit_again(probe);
        }
}

static void on_read(Plan *plan, int result, const Reason *reason _unused_) {
        ProbeWatch *watch = plan->userdata;

        watch->in_flight = false;
        if (watch->is_orphan) {
                probe_watch_free(watch);
                return;
        }
        if (result < 0)
                log_errno(result, LOG_WARNING, NULL, "cannot look whether others removed probes");
        if (result == 0 && !watch->set->is_closing)
                probe_watch_compare(watch);
        free_lists(watch);
        if (watch->is_due_again)
                probe_watch_look_soon(watch);
        watch->is_due_again = false;
}

static int probe_watch_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        static const PlanStep step = { "read-probes", step_read, NULL };
        ProbeWatch *watch = userdata;
        bool any = false;
        Probe *probe;

        watch->is_due = false;
        TAILQ_FOREACH(probe, &watch->set->list, probes) {
                probe->is_awaited = atomic_load(&probe->stands) && !probe->in_plan;
                any = any || probe->is_awaited;
        }
        if (!any)
                return 0;
        watch->plan = (Plan){ .context = watch, .done = on_read, .userdata = watch };
        plan_init(&watch->plan, &step, 1, NULL);
        watch->in_flight = true;
        worker_submit(watch->set->worker, &watch->plan);
        return 0;
}

static int probe_watch_on_watch(sd_event_source *source _unused_,
                int fd _unused_,
                uint32_t revents _unused_,
                void *userdata) {
        ProbeWatch *watch = userdata;
        char name[WATCH_NAME_MAX];

        if (watch_take(watch->watch, name))
                probe_watch_look_soon(watch);
        return 0;
}

static int watch_probes(ProbeWatch *watch) {
        int r = watch_new_probes(watch->set->tracefs, &watch->watch);
        if (r < 0)
                return r;
        r = sd_event_add_io(watch->set->event,
                        &watch->source,
                        watch_get_fd(watch->watch),
                        EPOLLIN,
                        probe_watch_on_watch,
                        watch);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(watch->source, "probe-watch");
        r = sd_event_add_time_relative(watch->set->event,
                        &watch->timer,
                        CLOCK_MONOTONIC,
                        WAIT_USEC,
                        WAIT_USEC / 4,
                        probe_watch_on_timer,
                        watch);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(watch->timer, "probe-watch-timer");
        return sd_event_source_set_enabled(watch->timer, SD_EVENT_OFF);
}

void probe_set_watch(ProbeSet *set) {
        if (set->watch || !set->tracefs || !set->on_lost)
                return;
        set->watch = calloc(1, sizeof(*set->watch));
        if (!set->watch)
                return;
        set->watch->set = set;
        int r = watch_probes(set->watch);
        if (r == 0)
                return;
        log_errno(r, LOG_WARNING, NULL, "changes of probes by other programs are not noticed");
        set->watch = probe_watch_free(set->watch);
}

void probe_watch_look(ProbeSet *set) {
        if (set->watch)
                probe_watch_look_soon(set->watch);
}

ProbeWatch *probe_watch_free(ProbeWatch *watch) {
        if (!watch)
                return NULL;
        watch->source = sd_event_source_disable_unref(watch->source);
        watch->timer = sd_event_source_disable_unref(watch->timer);
        if (watch->in_flight) {
                plan_cancel(&watch->plan);
                watch->is_orphan = true;
                return NULL;
        }
        watch->watch = watch_free(watch->watch);
        free_lists(watch);
        free(watch);
        return NULL;
}
