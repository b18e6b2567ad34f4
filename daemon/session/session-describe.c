/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session, its state and its statistics as JSON. The doors turn it into their own form. */

#include "session/session-describe.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/describe.h"
#include "base/fd.h"
#include "interfaces/spec-json.h"
#include "policy/grant-describe.h"
#include "policy/grant-sink.h"
#include "scope/process-cost.h"
#include "session/registry.h"
#include "session/session-share.h"
#include "session/session-state.h"
#include "session/window-look.h"
#include "spool/spool-record.h"
#include "trace/hist-rows.h"
#include "trace/metadata.h"
#include "trace/trace-counts.h"
#include "trace/trace-pairs.h"
#include "trace/trace-statistics.h"

static int session_describe_append_event(json_object *events, const GrantEvent *event) {
        char name[512];

        snprintf(name, sizeof(name), "%s:%s", event->system, event->name);
        return describe_append(events, json_object_new_string(name));
}

static int session_describe_events(const Grant *grant, json_object *events) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < grant->n_events; i++)
                if (!grant->events[i].is_unrecorded)
                        r = session_describe_append_event(events, &grant->events[i]);
        return r;
}

static int describe_off(const Session *session, json_object *off) {
        int r = 0;

        for (size_t i = 0; r == 0 && session->is_off && i < session->grant->n_events; i++)
                if (session->is_off[i] && !session->grant->events[i].is_unrecorded)
                        r = session_describe_append_event(off, &session->grant->events[i]);
        return r;
}

static int session_describe_notes(const Session *session, json_object *notes) {
        const ArmReport *report = &session->report;
        char note[512];

        int r = grant_describe_cost(session->grant, notes);
        if (r < 0 || report->n_processes == 0)
                return r;
        snprintf(note,
                        sizeof(note),
                        "%zu process%s with %zu thread%s listed at the start",
                        report->n_processes,
                        report->n_processes == 1 ? "" : "es",
                        report->n_threads,
                        report->n_threads == 1 ? "" : "s");
        r = describe_append(notes, json_object_new_string(note));
        if (r == 0 && report->n_joined > 0) {
                snprintf(note,
                                sizeof(note),
                                "%zu processes joined while it ran, and are not children",
                                report->n_joined);
                r = describe_append(notes, json_object_new_string(note));
        }
        if (r == 0 && report->n_unread_cgroups > 0) {
                snprintf(note,
                                sizeof(note),
                                "%zu cgroups of users or containers left out: they are too many, too "
                                "deep or cannot be read",
                                report->n_unread_cgroups);
                r = describe_append(notes, json_object_new_string(note));
        }
        if (r < 0 || report->n_left_out == 0)
                return r;
        snprintf(note,
                        sizeof(note),
                        "%zu processes left out: %s",
                        report->n_left_out,
                        report->left_out);
        return describe_append(notes, json_object_new_string(note));
}

/* Adds no key if the session has no histogram. */
static int session_describe_histograms(const Session *session, json_object *object) {
        json_object *list = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < session->grant->n_triggers; i++) {
                const GrantTrigger *trigger = &session->grant->triggers[i];

                if (!trigger->hist.command)
                        continue;
                if (!list) {
                        list = json_object_new_array();
                        r = describe_put(object, "histograms", list);
                }
                r = r
                                    ?: describe_append(list,
                                                       hist_rows_describe(
                                                                       &session->spec->triggers[i],
                                                                       &trigger->hist,
                                                                       trace_counts(&session->trace)));
        }
        return r;
}

/* For a session of a container: its name, and the numbers on the host of the processes that the
 * spec names by their numbers in the container. */
static int session_describe_container(const Session *session, json_object *object) {
        const Subject *owner = &session->owner;
        json_object *pids = NULL;

        if (!owner->container)
                return 0;
        int r = describe_put(object, "container", json_object_new_string(owner->container));
        if (r < 0 || !session->trace.pids)
                return r;
        pids = json_object_new_array();
        r = describe_put(object, "host-pids", pids);
        for (size_t i = 0; r == 0 && i < session->spec->n_pids; i++)
                r = describe_append(pids, json_object_new_int64(session->trace.pids[i]));
        return r;
}

int session_describe(const Session *session, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *spec = NULL, *events = json_object_new_array(), *off = json_object_new_array(),
                    *requests = json_object_new_array(), *notes = json_object_new_array(),
                    *sinks = json_object_new_array();

        if (!object)
                return -ENOMEM;
        int r = describe_put(object, "events", events), r2 = describe_put(object, "off", off),
            r3 = describe_put(object, "requests", requests),
            r4 = describe_put(object, "notes", notes), r5 = describe_put(object, "sinks", sinks);
        r = r ?: r2 ?: r3 ?: r4 ?: r5;
        r = r ?: describe_put(object, "id", json_object_new_string(session->id));
        r = r ?: describe_put(object, "name", json_object_new_string(session_get_name(session)));
        r = r ?: describe_put(object, "uid", json_object_new_uint64(session->owner.uid));
        r = r
                            ?: describe_put(object,
                                               "state",
                                               json_object_new_string(session_state_to_string(
                                                               session->state)));
        r = r ?: describe_put(object, "rule", json_object_new_string(session->grant->rule));
        r = r ?: spec_to_json(session->spec, &spec);
        r = r ?: describe_put(object, "spec", spec);
        r = r ?: session_describe_events(session->grant, events);
        r = r ?: describe_off(session, off);
        r = r ?: grant_describe_requests(session->grant, requests);
        r = r ?: session_describe_notes(session, notes);
        r = r ?: session_describe_histograms(session, object);
        r = r ?: grant_describe_sinks(session->grant, sinks);
        r = r ?: windows_describe(session, object);
        r = r ?: session_describe_container(session, object);
        r = r ?: session_describe_share(session, object);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

typedef struct SessionTotals {
        uint64_t recorded, lost;
        uint64_t made; /* all events, recorded or lost */
} SessionTotals;

static int session_describe_cpu(const Session *session,
                unsigned cpu,
                json_object *cpus,
                SessionTotals *totals) {
        json_object *object = json_object_new_object();
        CpuStatistics s = {};

        int r = describe_append(cpus, object);
        if (r < 0)
                return r;
        r = trace_read_statistics(&session->trace, cpu, &s);
        if (r < 0)
                return r;
        uint64_t recorded = s.read + s.entries + s.overrun, lost = s.dropped + s.commit_overrun;
        totals->recorded += recorded;
        totals->made += recorded + lost;
        totals->lost += lost; /* events that a flight recorder overwrites are not lost events */
        r = describe_put(object, "cpu", json_object_new_uint64(cpu));
        r = r ?: describe_put(object, "recorded", json_object_new_uint64(recorded));
        r = r ?: describe_put(object, "read", json_object_new_uint64(s.read));
        r = r ?: describe_put(object, "lost", json_object_new_uint64(lost));
        r = r ?: describe_put(object, "dropped", json_object_new_uint64(s.dropped));
        r = r ?: describe_put(object, "overwritten", json_object_new_uint64(s.overrun));
        r = r ?: describe_put(object, "entries", json_object_new_uint64(s.entries));
        r = r ?: describe_put(object, "bytes", json_object_new_uint64(s.bytes));
        if (r < 0 || s.oldest_nsec == 0)
                return r;
        r = describe_put(object, "oldest-nsec", json_object_new_uint64(s.oldest_nsec));
        return r ?: describe_put(object, "now-nsec", json_object_new_uint64(s.now_nsec));
}

static int session_describe_spool(const Session *session, json_object *object) {
        const SpoolEntry *entry = session->feed ? feed_get_entry(session->feed) : NULL;
        json_object *spool = NULL;

        int r = entry ? spool_describe_entry(entry, &spool) : 0;
        return r < 0 || !entry ? r : describe_put(object, "spool", spool);
}

/* Adds the stream worker. Adds no key if there is none, or if it has not yet reported. */
static int session_describe_worker(const Session *session, json_object *object) {
        pid_t pid = session->feed ? feed_get_pid(session->feed) : 0;
        ProcessCost cost;

        if (pid <= 0 || process_cost_read(pid, &cost) < 0)
                return 0;
        int r = describe_put(object, "worker-pid", json_object_new_uint64((uint64_t)pid));
        r = r ?: describe_put(object, "worker-memory-kb", json_object_new_uint64(cost.memory_kb));
        return r ?: describe_put(object, "worker-cpu-usec", json_object_new_uint64(cost.cpu_usec));
}

int session_statistics(const Session *session, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *cpus = json_object_new_array();
        FeedCounters counters = {};
        SessionTotals totals = {};

        if (!object)
                return -ENOMEM;
        int r = describe_put(object, "cpus", cpus);
        /* The counters of the rings would be a clock. */
        bool is_shown = grant_has_records(session->grant);
        for (unsigned i = 0; r == 0 && is_shown && i < session->trace.n_cpus; i++)
                r = session_describe_cpu(session, i, cpus, &totals);
        if (session->feed && is_shown)
                feed_get_counters(session->feed, &counters);
        r = r ?: describe_put(object, "recorded", json_object_new_uint64(totals.recorded));
        r = r ?: describe_put(object, "lost", json_object_new_uint64(totals.lost));
        r = r
                            ?: describe_put(object,
                                               "unpaired",
                                               json_object_new_uint64(trace_get_n_dropped(
                                                               &session->trace)));
        r = r ?: session_describe_spool(session, object);
        uint64_t cost_usec = meter_get_cost_usec(totals.made);
        uint64_t hit_nsec = session->grant->fenced ? HIT_NSEC_MAX : 0;
        r = r ?: describe_put(object, "cost-usec", json_object_new_uint64(cost_usec));
        r = r ?: describe_put(object, "hit-cost-nsec", json_object_new_uint64(hit_nsec));
        r = r
                            ?: describe_put(object,
                                               "written-bytes",
                                               json_object_new_uint64(
                                                               session->counters.written_bytes +
                                                               counters.written_bytes));
        r = r
                            ?: describe_put(object,
                                               "discarded-bytes",
                                               json_object_new_uint64(
                                                               session->counters.discarded_bytes +
                                                               counters.discarded_bytes));
        if (r == 0 && is_shown && !session->owner.container)
                r = session_describe_worker(session, object);
        r = r
                            ?: describe_put(object,
                                               "interference",
                                               json_object_new_uint64(session->n_interferences));
        r = r
                            ?: describe_put(object,
                                               "interference-nsec",
                                               json_object_new_uint64(session->interference_nsec));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int session_metadata(const Session *session, int *ret_fd) {
        return fd_reopen(session->trace.metadata_fd, ret_fd);
}
