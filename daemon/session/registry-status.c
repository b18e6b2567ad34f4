/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* GetStatus: reports how much memory, CPU time and kernel buffer the daemon and its stream workers
 * use. The doors call it in the event loop. It reads only /proc, so it does not block. A user sees
 * only the user's own workers and buffers; root sees all. The totals of all users are for root and
 * for those who may trace or count every process, such as a monitoring agent. */

#include "session/registry-status.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/describe.h"
#include "scope/process-cost.h"
#include "session/black-box.h"
#include "session/drain.h"
#include "session/pool.h"
#include "session/registry.h"
#include "session/session-second.h"

#define USEC_PER_SEC 1000000ULL

/* What sessions use now. */
typedef struct Gauges {
        uint64_t n_sessions, n_running, n_streams;
        uint64_t buffer_kb; /* in the kernel; a flight recorder has two buffers */
        uint64_t n_workers, memory_kb, cpu_usec; /* of the workers */
} Gauges;

static int registry_status_put(json_object *object, const char *key, uint64_t number) {
        return describe_put(object, key, json_object_new_uint64(number));
}

static bool registry_status_is_shown(const Subject *subject, uid_t uid) {
        return subject->uid == 0 || subject->uid == uid;
}

static uint64_t registry_status_get_now_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

static int put_daemon(json_object *object) {
        uint64_t now_usec = registry_status_get_now_usec();
        ProcessCost cost;

        int r = process_cost_read(getpid(), &cost);
        r = r ?: describe_put(object, "version", json_object_new_string(KT_VERSION));
        r = r ?: registry_status_put(object, "pid", (uint64_t)getpid());
        r = r ?: registry_status_put(object, "memory-kb", cost.memory_kb);
        r = r ?: registry_status_put(object, "cpu-usec", cost.cpu_usec);
        return r
                               ?: registry_status_put(object,
                                                  "uptime-usec",
                                                  now_usec > cost.begun_usec
                                                                  ? now_usec - cost.begun_usec
                                                                  : 0);
}

/* Leaves out the process if it has ended or has not yet reported to this daemon. */
static int append_worker(json_object *list, const Feed *feed, const char *session, uid_t uid) {
        json_object *worker = json_object_new_object();
        pid_t pid = feed_get_pid(feed);
        ProcessCost cost;

        int r = describe_append(list, worker);
        r = r ?: describe_put(worker, "session", json_object_new_string(session));
        r = r ?: registry_status_put(worker, "uid", uid);
        if (r < 0 || pid <= 0 || process_cost_read(pid, &cost) < 0)
                return r;
        r = registry_status_put(worker, "pid", (uint64_t)pid);
        r = r ?: registry_status_put(worker, "memory-kb", cost.memory_kb);
        return r ?: registry_status_put(worker, "cpu-usec", cost.cpu_usec);
}

static void count_session(const Session *session, Gauges *gauges) {
        gauges->n_sessions++;
        gauges->n_running += session->state == SESSION_RUNNING;
        gauges->n_streams += session->feed != NULL;
        gauges->buffer_kb += session->trace.size_kb * session->trace.n_cpus *
                             (session->trace.has_snapshot ? 2 : 1);
}

static int put_gauges(json_object *object, const Gauges *gauges) {
        int r = registry_status_put(object, "sessions", gauges->n_sessions);

        r = r ?: registry_status_put(object, "running", gauges->n_running);
        r = r ?: registry_status_put(object, "streams", gauges->n_streams);
        return r ?: registry_status_put(object, "kernel-buffer-kb", gauges->buffer_kb);
}

static int put_sessions(json_object *object, const Registry *registry, const Subject *subject) {
        json_object *workers = json_object_new_array();
        const Session *session;
        const Drain *drain;
        Gauges gauges = {};

        int r = describe_put(object, "consumers", workers);
        TAILQ_FOREACH(session, &registry->sessions, sessions) {
                if (!registry_status_is_shown(subject, session->owner.uid))
                        continue;
                count_session(session, &gauges);
                if (r == 0 && session->feed)
                        r = append_worker(workers, session->feed, session->id, session->owner.uid);
        }
        TAILQ_FOREACH(drain, &registry->drains, drains)
                if (r == 0 && registry_status_is_shown(subject, drain->uid))
                        r = append_worker(workers, drain->feed, "", drain->uid);
        if (r == 0 && subject->uid == 0)
                r = pool_describe(registry->pool, object);
        if (r == 0 && subject->uid == 0)
                r = share_describe_all(&registry->shares, object);
        if (r == 0 && subject->uid == 0)
                r = black_box_describe(registry->black_box, object);
        return r ?: put_gauges(object, &gauges);
}

static void count_worker(const Feed *feed, Gauges *gauges) {
        pid_t pid = feed_get_pid(feed);
        ProcessCost cost = {};

        gauges->n_workers++;
        if (pid <= 0 || process_cost_read(pid, &cost) < 0)
                return;
        gauges->memory_kb += cost.memory_kb;
        gauges->cpu_usec += cost.cpu_usec;
}

/* The numbers of all users, without anything by which a user or a session could be found. */
static int make_totals(const Registry *registry, json_object **ret) {
        _cleanup_json_ json_object *totals = json_object_new_object();
        const Session *session;
        const Drain *drain;
        Gauges gauges = {};

        TAILQ_FOREACH(session, &registry->sessions, sessions) {
                count_session(session, &gauges);
                if (session->feed)
                        count_worker(session->feed, &gauges);
        }
        TAILQ_FOREACH(drain, &registry->drains, drains)
                count_worker(drain->feed, &gauges);
        int r = totals ? counters_describe(&registry->counters, totals) : -ENOMEM;
        r = r ?: put_gauges(totals, &gauges);
        r = r ?: registry_status_put(totals, "consumers", gauges.n_workers);
        r = r ?: registry_status_put(totals, "consumers-memory-kb", gauges.memory_kb);
        r = r ?: registry_status_put(totals, "consumers-cpu-usec", gauges.cpu_usec);
        if (r == 0)
                *ret = TAKE_PTR(totals);
        return r;
}

static int put_totals(json_object *object, const Registry *registry) {
        json_object *totals = NULL;
        int r = make_totals(registry, &totals);

        return r ?: describe_put(object, "totals", totals);
}

/* For users who may only count: all of them get numbers of the same moment, which change once a
 * second. So the numbers do not show exactly when others do something. */
static int put_totals_of_second(json_object *object, Registry *registry) {
        uint64_t second = session_get_second();

        if (!registry->totals || registry->totals_second != second) {
                json_object *totals = NULL;
                int r = make_totals(registry, &totals);

                if (r < 0)
                        return r;
                json_object_put(registry->totals);
                registry->totals = totals;
                registry->totals_second = second;
        }
        return describe_put(object, "totals", json_object_get(registry->totals));
}

int registry_describe_status(Registry *registry, const Subject *subject, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object)
                return -ENOMEM;
        int r = put_daemon(object);
        r = r ?: put_sessions(object, registry, subject);
        if (r == 0 && policy_may_trace_all(registry->options.policy, subject))
                r = put_totals(object, registry);
        else if (r == 0 && policy_may_count_all(registry->options.policy, subject))
                r = put_totals_of_second(object, registry);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

void registry_count(const Registry *registry, size_t *ret_sessions, size_t *ret_streams) {
        const Session *session;
        const Drain *drain;

        *ret_sessions = *ret_streams = 0;
        TAILQ_FOREACH(session, &registry->sessions, sessions) {
                ++*ret_sessions;
                *ret_streams += session->feed != NULL;
        }
        TAILQ_FOREACH(drain, &registry->drains, drains)
                ++*ret_streams;
}

void registry_count_reader(Registry *registry, const Feed *feed) {
        FeedCounters counters;

        feed_get_counters(feed, &counters);
        registry->counters.written_bytes += counters.written_bytes;
        registry->counters.discarded_bytes += counters.discarded_bytes;
}

void registry_count_feed(Registry *registry, const Feed *feed) {
        registry_count_reader(registry, feed);
        registry->counters.n_failed_workers += feed_has_failed(feed);
}
