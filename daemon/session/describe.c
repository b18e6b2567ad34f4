/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a session tells of itself, as JSON: the doors turn it into their own form. */

#include <errno.h>
#include <inttypes.h>

#include "metadata.h"
#include "registry.h"

/* Adds or gives -ENOMEM; takes value. */
static int put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

static int append(json_object *array, json_object *value) {
        if (value && json_object_array_add(array, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

static int describe_events(const Grant *grant, json_object *events) {
        for (size_t i = 0; i < grant->n_events; i++) {
                char name[512];

                snprintf(name,
                                sizeof(name),
                                "%s:%s",
                                grant->events[i].system,
                                grant->events[i].name);
                int r = append(events, json_object_new_string(name));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int describe_requests(const Grant *grant, json_object *requests) {
        for (size_t i = 0; i < grant->n_requests; i++) {
                const GrantRequest *request = &grant->requests[i];
                json_object *object = json_object_new_object();

                int r = append(requests, object);
                r = r ?: put(object, "pattern", json_object_new_string(request->pattern));
                r = r ?: put(object, "matched", json_object_new_uint64(request->n_matched));
                r = r ?: put(object, "granted", json_object_new_uint64(request->n_granted));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int describe_notes(const Session *session, json_object *notes) {
        const ArmReport *report = &session->report;
        char note[512];

        if (report->n_processes == 0)
                return 0;
        snprintf(note,
                        sizeof(note),
                        "%zu processes with %zu threads listed at the start",
                        report->n_processes,
                        report->n_threads);
        int r = append(notes, json_object_new_string(note));
        if (r == 0 && report->n_joined > 0) {
                snprintf(note,
                                sizeof(note),
                                "%zu processes came while it ran, other than as children",
                                report->n_joined);
                r = append(notes, json_object_new_string(note));
        }
        if (r < 0 || report->n_left_out == 0)
                return r;
        snprintf(note,
                        sizeof(note),
                        "%zu processes left out: %s",
                        report->n_left_out,
                        report->left_out);
        return append(notes, json_object_new_string(note));
}

int session_describe(const Session *session, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *spec = NULL, *events = json_object_new_array(),
                    *requests = json_object_new_array(), *notes = json_object_new_array();

        if (!object)
                return -ENOMEM;
        int r = put(object, "events", events), r2 = put(object, "requests", requests),
            r3 = put(object, "notes", notes);
        r = r ?: r2 ?: r3;
        r = r ?: put(object, "id", json_object_new_string(session->id));
        r = r ?: put(object, "name", json_object_new_string(session_get_name(session)));
        r = r ?: put(object, "uid", json_object_new_uint64(session->owner.uid));
        r = r
                            ?: put(object,
                                               "state",
                                               json_object_new_string(session_state_to_string(
                                                               session->state)));
        r = r ?: put(object, "rule", json_object_new_string(session->grant->rule));
        r = r ?: spec_to_json(session->spec, &spec);
        r = r ?: put(object, "spec", spec);
        r = r ?: describe_events(session->grant, events);
        r = r ?: describe_requests(session->grant, requests);
        r = r ?: describe_notes(session, notes);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

typedef struct Totals {
        uint64_t recorded, lost;
} Totals;

static int describe_cpu(const Session *session, unsigned cpu, json_object *cpus, Totals *totals) {
        json_object *object = json_object_new_object();
        CpuStatistics s = {};

        int r = append(cpus, object);
        if (r < 0)
                return r;
        r = trace_read_statistics(&session->trace, cpu, &s);
        if (r < 0)
                return r;
        uint64_t recorded = s.read + s.entries + s.overrun, lost = s.dropped + s.commit_overrun;
        totals->recorded += recorded;
        totals->lost += lost + s.overrun;
        r = put(object, "cpu", json_object_new_uint64(cpu));
        r = r ?: put(object, "recorded", json_object_new_uint64(recorded));
        r = r ?: put(object, "read", json_object_new_uint64(s.read));
        r = r ?: put(object, "lost", json_object_new_uint64(lost));
        r = r ?: put(object, "overwritten", json_object_new_uint64(s.overrun));
        r = r ?: put(object, "entries", json_object_new_uint64(s.entries));
        return r ?: put(object, "bytes", json_object_new_uint64(s.bytes));
}

int session_statistics(const Session *session, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *cpus = json_object_new_array();
        FeedCounters counters = {};
        Totals totals = {};

        if (!object)
                return -ENOMEM;
        int r = put(object, "cpus", cpus);
        for (unsigned i = 0; r == 0 && i < session->trace.n_cpus; i++)
                r = describe_cpu(session, i, cpus, &totals);
        if (session->feed)
                feed_get_counters(session->feed, &counters);
        r = r ?: put(object, "recorded", json_object_new_uint64(totals.recorded));
        r = r ?: put(object, "lost", json_object_new_uint64(totals.lost));
        r = r
                            ?: put(object,
                                               "written-bytes",
                                               json_object_new_uint64(
                                                               session->counters.written_bytes +
                                                               counters.written_bytes));
        r = r
                            ?: put(object,
                                               "discarded-bytes",
                                               json_object_new_uint64(
                                                               session->counters.discarded_bytes +
                                                               counters.discarded_bytes));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int session_metadata(const Session *session, int *ret_fd) {
        return metadata_reopen(session->trace.metadata_fd, ret_fd);
}
