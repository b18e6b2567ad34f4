/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A set that is on. The collector calls set_run_read() at each interval. It keeps one session at
 * ktraced for the set, and takes the session's tables.
 *
 * The session has the lifetime `linger`. A service that starts again finds the session of its
 * predecessor by name. If its spec is the one that the set needs, its counts go on, so that nothing
 * is lost. If the session is gone, or another one, a new session counts from zero, and what was
 * counted before is added to it. The service knows that only as long as it runs. So such a session
 * has histograms with other names, and the next service begins at zero with it: a number that is
 * too small for a moment is a reset, which monitoring systems expect, but a number that is wrong
 * stays.
 *
 * A set that fails leaves the others alone. Its failure is logged once, and it is tried again, at
 * first at the next interval and then less often. A metric that is refused leaves the others of its
 * set alone: the session is made without it. A successor does not go on with such a session,
 * because the metric may be allowed then. */

#include "metrics/set-run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/json.h"
#include "metrics/reading.h"
#include "metrics/source.h"
#include "service/log.h"

#define RETRY_MAX_USEC UINT64_C(300000000)
#define FAILED         "org.ktrace1.Error.Failed" /* by ktraced, and by libktrace without an answer */

static uint64_t set_run_get_usec(clockid_t clock) {
        struct timespec now = {};

        (void)clock_gettime(clock, &now); /* cannot fail with these clocks */
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int64_t set_run_get_realtime_nsec(void) {
        return (int64_t)set_run_get_usec(CLOCK_REALTIME) * 1000;
}

/* Follows a count of ktraced that may begin again at zero. */
static void set_run_follow(uint64_t *total, uint64_t *before, uint64_t now) {
        *total += now >= *before ? now - *before : now;
        *before = now;
}

/* The counts */

SetRun *set_run_new(const Set *set) {
        _cleanup_(set_run_free_cleanup) SetRun *run = calloc(1, sizeof(*run));

        if (!run)
                return NULL;
        run->set = set;
        run->metrics = calloc(set->n_metrics, sizeof(*run->metrics));
        run->left_out = calloc(set->n_metrics, sizeof(*run->left_out));
        for (size_t i = 0; run->metrics && i < set->n_metrics; i++) {
                MetricRun *metric = &run->metrics[i];

                metric->metric = &set->metrics[i];
                if (metric->metric->source == SOURCE_STATUS)
                        continue;
                metric->totals = totals_new(metric->metric);
                if (!metric->totals)
                        return NULL;
        }
        return run->metrics && run->left_out ? TAKE_PTR(run) : NULL;
}

SetRun *set_run_free(SetRun *run) {
        if (!run)
                return NULL;
        ktrace_session_free(run->session);
        for (size_t i = 0; run->metrics && i < run->set->n_metrics; i++)
                totals_free(run->metrics[i].totals);
        free(run->metrics);
        free(run->left_out);
        free(run->id);
        free(run);
        return NULL;
}

void set_run_move(SetRun *run, const Set *set) {
        for (size_t i = 0; i < set->n_metrics; i++) {
                run->metrics[i].metric = &set->metrics[i];
                if (run->metrics[i].totals)
                        totals_move(run->metrics[i].totals, &set->metrics[i]);
        }
        run->set = set;
}

/* Whether the metric goes on with the counts of the old one. */
static bool metric_run_continues(const MetricRun *metric, const MetricRun *old) {
        bool is_status = !metric->totals, was_status = !old->totals;

        return old->is_read && is_status == was_status &&
               set_metric_counts_alike(old->metric, metric->metric);
}

static void metric_run_inherit(MetricRun *metric, MetricRun *from) {
        const SetMetric *own = metric->metric;

        totals_free(metric->totals);
        *metric = *from;
        metric->metric = own;
        from->totals = NULL;
        if (metric->totals) {
                totals_move(metric->totals, own);
                totals_restart(metric->totals);
                metric->dropped_before = 0;
        }
}

void set_run_inherit(SetRun *run, SetRun *from) {
        for (size_t i = 0; i < run->set->n_metrics; i++)
                for (size_t j = 0; j < from->set->n_metrics; j++) {
                        if (!metric_run_continues(&run->metrics[i], &from->metrics[j]))
                                continue;
                        metric_run_inherit(&run->metrics[i], &from->metrics[j]);
                        /* The next session is not the first one that counts. */
                        run->read_usec = from->read_usec;
                }
}

/* Messages */

static void set_run_fail(SetRun *run, const char *text, uint64_t interval_usec) {
        uint64_t wait_usec = interval_usec;

        for (unsigned i = 0; i < run->n_failures && wait_usec < RETRY_MAX_USEC; i++)
                wait_usec *= 2;
        run->n_failures++;
        run->is_up = false;
        /* The first retry is at the next interval. Intervals are not exact, so half of one is
         * subtracted. */
        run->due_usec = set_run_get_usec(CLOCK_MONOTONIC) + MIN_OF(wait_usec, RETRY_MAX_USEC) -
                        interval_usec / 2;
        if (strcmp(run->trouble, text) != 0)
                log_print(LOG_WARNING, "set %s: %s", run->set->name, text);
        (void)snprintf(run->trouble, sizeof(run->trouble), "%s", text);
}

/* A set may have a longer interval than the collector. */
static void set_run_succeed(SetRun *run, uint64_t begin_usec, uint64_t interval_usec) {
        if (run->trouble[0])
                log_print(LOG_NOTICE, "set %s: works again", run->set->name);
        run->trouble[0] = '\0';
        run->n_failures = 0;
        run->due_usec = run->set->interval_usec > interval_usec
                                        ? begin_usec + run->set->interval_usec - interval_usec / 2
                                        : 0;
        run->is_up = true;
}

/* Takes the notices, and logs why a session has ended. The others are not needed. */
static void set_run_take_notices(SetRun *run) {
        char *text = NULL;

        while (run->session && ktrace_session_take_notice(run->session, &text) == 0 && text) {
                _cleanup_json_ json_object *notice = NULL;
                json_object *ended = NULL, *reason = NULL;
                Reason unused;

                if (json_parse_strict("notice", text, strlen(text), &notice, &unused) == 0 &&
                                json_object_is_type(notice, json_type_object) &&
                                json_object_object_get_ex(notice, "ended", &ended) &&
                                json_object_is_type(ended, json_type_object) &&
                                json_object_object_get_ex(ended, "reason", &reason))
                        log_print(LOG_NOTICE,
                                        "set %s: its session has ended: %s",
                                        run->set->name,
                                        json_object_get_string(reason) ?: "");
                free(text);
        }
}

/* The session */

void set_run_detach(SetRun *run) {
        ktrace_session_free(run->session);
        run->session = NULL;
        run->is_up = false;
        run->due_usec = 0; /* its session lingers for a minute only */
}

void set_run_hasten(SetRun *run) {
        if (run->is_up)
                run->due_usec = 0;
}

/* The next session begins at zero. */
static void set_run_restart(SetRun *run, bool is_whole) {
        for (size_t i = 0; i < run->set->n_metrics; i++) {
                if (run->metrics[i].totals)
                        totals_restart(run->metrics[i].totals);
                run->metrics[i].dropped_before = 0;
        }
        run->lost_before = 0;
        run->is_whole = is_whole;
        run->is_adopted = false;
}

static int set_run_set_id(SetRun *run) {
        free(run->id);
        run->id = strdup(ktrace_session_get_id(run->session));
        return run->id ? 0 : -ENOMEM;
}

static int set_run_add_probe(ktrace *connection, const SetMetric *metric, ktrace_error *error) {
        _cleanup_json_ json_object *definition = NULL, *arguments = json_object_new_object();

        int r = arguments ? source_make_probe(metric, &definition) : -ENOMEM;
        if (r < 0)
                return r;
        if (json_object_object_add(arguments, "definition", json_object_get(definition)) < 0)
                return -ENOMEM;
        r = ktrace_call(connection,
                        NULL,
                        "AddProbe",
                        json_object_to_json_string(arguments),
                        NULL,
                        error);
        return r == -EEXIST ? 0 : r; /* equal names are equal definitions */
}

/* *ret_metric: the metric whose probe is refused. */
static int set_run_add_probes(SetRun *run,
                ktrace *connection,
                size_t *ret_metric,
                ktrace_error *error) {
        const Set *set = run->set;

        for (size_t i = 0; i < set->n_metrics; i++) {
                if (set->metrics[i].source != SOURCE_PAIR || run->left_out[i])
                        continue;
                int r = set_run_add_probe(connection, &set->metrics[i], error);
                if (r < 0) {
                        *ret_metric = i;
                        return r;
                }
        }
        return 0;
}

/* Creates and starts the session. *ret_metric: the metric that ktraced refuses; SIZE_MAX: none. */
static int set_run_try(SetRun *run,
                ktrace *connection,
                const SourceSession *session,
                size_t *ret_metric,
                ktrace_error *error) {
        _cleanup_json_ json_object *spec = NULL;

        *ret_metric = SIZE_MAX;
        int r = source_make_spec(session, &spec);
        r = r ?: set_run_add_probes(run, connection, ret_metric, error);
        if (r < 0)
                return r;
        r = ktrace_create(connection, json_object_to_json_string(spec), &run->session, error);
        r = r ?: ktrace_session_start(run->session, error);
        if (r < 0 && run->session) {
                (void)ktrace_session_destroy(run->session, NULL);
                set_run_detach(run);
        }
        if (r < 0)
                (void)source_find_refused(session, error->text, ret_metric);
        return r;
}

/* Whether ktraced would answer the same to another try. */
static bool set_run_is_refused(int r) {
        return r == -EINVAL || r == -EACCES || r == -EPERM || r == -ENOENT || r == -EOPNOTSUPP;
}

/* A metric that the policy or this kernel does not allow is left out, so that the set has the
 * others. */
static int set_run_make(SetRun *run, ktrace *connection, bool is_whole, ktrace_error *error) {
        const Set *set = run->set;
        const SourceSession session = {
                .set = set, .left_out = run->left_out, .uid = geteuid(), .is_whole = is_whole
        };
        size_t metric, n = 0;

        for (size_t i = 0; i < set->n_metrics; i++) {
                n += set->metrics[i].source != SOURCE_STATUS;
                run->left_out[i] = false;
        }
        for (;;) {
                int r = set_run_try(run, connection, &session, &metric, error);

                if (r == 0 || !set_run_is_refused(r) || metric == SIZE_MAX || --n == 0)
                        return r;
                run->left_out[metric] = true;
                log_print(LOG_WARNING,
                                "set %s: %s is left out: %s",
                                set->name,
                                set->metrics[metric].name,
                                error->text);
        }
}

static int set_run_create(SetRun *run, ktrace *connection, ktrace_error *error) {
        /* What was counted before is known to this service only. */
        bool is_whole = run->read_usec == 0;

        int r = set_run_make(run, connection, is_whole, error);
        r = r ?: set_run_set_id(run);
        if (r != 0)
                return r;
        set_run_restart(run, is_whole);
        for (size_t i = 0; i < run->set->n_metrics; i++)
                if (run->metrics[i].created_nsec == 0 && !run->metrics[i].is_read)
                        run->metrics[i].created_nsec = set_run_get_realtime_nsec();
        if (is_whole)
                return 0;
        uint64_t gap_usec = set_run_get_usec(CLOCK_MONOTONIC) - run->read_usec;
        run->n_restarts++;
        run->gap_usec += gap_usec;
        log_print(LOG_NOTICE,
                        "set %s: counting began again after a gap of %.1f s",
                        run->set->name,
                        (double)gap_usec / 1e6);
        return 0;
}

/* Whether a session that was found counts all that the set needs. */
static bool set_run_is_wanted(SetRun *run, json_object *described, bool is_whole) {
        const SourceSession session = { .set = run->set, .uid = geteuid(), .is_whole = is_whole };
        _cleanup_json_ json_object *spec = NULL;

        return source_make_spec(&session, &spec) == 0 &&
               source_is_same(json_object_object_get(described, "spec"), spec);
}

static int set_run_describe(SetRun *run, json_object **ret, ktrace_error *error) {
        _cleanup_free_ char *text = NULL;
        Reason unused;

        int r = ktrace_session_describe(run->session, &text, error);
        r = r ?: json_parse_strict("answer", text, strlen(text), ret, &unused);
        if (r == 0 && !json_object_is_type(*ret, json_type_object)) {
                *ret = json_put_free(*ret);
                return -EBADMSG;
        }
        return r > 0 ? -EBADMSG : r;
}

/* Takes over the session of this name if it is the one that was read before, or the predecessor's
 * and still right. Returns 1 if it is neither. */
static int set_run_adopt(SetRun *run, ktrace_error *error) {
        _cleanup_json_ json_object *described = NULL;
        bool is_known = run->id && strcmp(run->id, ktrace_session_get_id(run->session)) == 0;
        bool is_whole = false;

        int r = set_run_describe(run, &described, error);
        if (r < 0)
                return r;
        if (!is_known) {
                is_whole = set_run_is_wanted(run, described, true);
                if (run->read_usec > 0 || (!is_whole && !set_run_is_wanted(run, described, false)))
                        return 1;
        }
        const char *state = json_object_get_string(json_object_object_get(described, "state"));
        if (!state || strcmp(state, "running") != 0)
                r = ktrace_session_start(run->session, error);
        if (r != 0 || is_known)
                return r;
        memset(run->left_out, 0, run->set->n_metrics * sizeof(*run->left_out));
        set_run_restart(run, is_whole);
        run->is_adopted = true;
        return set_run_set_id(run);
}

static int set_run_attach(SetRun *run, ktrace *connection, ktrace_error *error) {
        char name[SOURCE_NAME_MAX];

        source_name_session(run->set, name);
        int r = ktrace_find(connection, name, &run->session, error);
        if (r == -ENOENT)
                return set_run_create(run, connection, error);
        r = r ?: set_run_adopt(run, error);
        if (r == 1) {
                r = ktrace_session_destroy(run->session, error);
                set_run_detach(run);
                return r ?: set_run_create(run, connection, error);
        }
        if (r < 0)
                set_run_detach(run);
        return r;
}

void set_run_end(SetRun *run, ktrace *connection) {
        char name[SOURCE_NAME_MAX];
        ktrace_error error;

        source_name_session(run->set, name);
        if (!run->session && run->id)
                (void)ktrace_find(connection, name, &run->session, NULL);
        if (run->session && ktrace_session_destroy(run->session, &error) < 0)
                log_print(LOG_WARNING, "set %s: its session stays: %s", run->set->name, error.text);
        set_run_detach(run);
}

/* Readings */

/* The rows of tasks that have ended stay in the kernel's table: it is cleared before it is full. */
static int set_run_clear_table(SetRun *run,
                MetricRun *metric,
                const char *name,
                const Reading *reading,
                ktrace_error *error) {
        char changes[SOURCE_NAME_MAX + 32];

        if (!set_metric_has_tasks(metric->metric) ||
                        reading->entries < set_metric_count_rows(metric->metric) / 4 * 3)
                return 0;
        (void)snprintf(changes, sizeof(changes), "{\"hist-clear\": \"%s\"}", name);
        int r = ktrace_session_configure(run->session, changes, error);
        if (r == 0) {
                totals_restart(metric->totals);
                metric->dropped_before = 0;
        }
        return r;
}

/* Whether the rows have counts that a predecessor has already reported, together with others that
 * only it knew. They are only what later readings are compared with. */
static bool set_run_skips(const SetRun *run, const MetricRun *metric) {
        return run->is_adopted && (!run->is_whole || set_metric_has_tasks(metric->metric));
}

static int set_run_read_histogram(SetRun *run,
                MetricRun *metric,
                uint64_t *lost,
                ktrace_error *error) {
        _cleanup_free_ char *text = NULL;
        bool skips = set_run_skips(run, metric);
        char name[SOURCE_NAME_MAX];
        Reading reading;
        Reason reason = {};

        source_name_histogram(metric->metric, run->is_whole, name);
        int r = ktrace_session_get_histogram(run->session, name, &text, error);
        if (r < 0)
                return r;
        totals_begin(metric->totals);
        r = reading_take(text, metric->metric, metric->totals, &reading, &reason);
        if (r > 0) {
                (void)snprintf(error->text, sizeof(error->text), "%s", reason.text);
                return -EBADMSG;
        }
        if (r == 0 && skips)
                totals_skip(metric->totals);
        else
                r = r ?: totals_commit(metric->totals);
        if (r < 0)
                return r;
        if (skips)
                metric->dropped_before = reading.dropped;
        set_run_follow(&metric->dropped, &metric->dropped_before, reading.dropped);
        *lost = MAX_OF(*lost, reading.lost);
        metric->is_read = true;
        run->is_of_consumer = reading.is_of_consumer;
        return set_run_clear_table(run, metric, name, &reading, error);
}

static int set_run_read_session(SetRun *run, ktrace_error *error) {
        uint64_t lost = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < run->set->n_metrics; i++)
                if (run->metrics[i].totals && !run->left_out[i])
                        r = set_run_read_histogram(run, &run->metrics[i], &lost, error);
        if (r < 0)
                return r;
        /* Each table has the number of the session. */
        set_run_follow(&run->n_lost, &run->lost_before, lost);
        run->is_adopted = false;
        return 0;
}

static int set_run_read_status(SetRun *run, ktrace *connection, ktrace_error *error) {
        _cleanup_free_ char *text = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < run->set->n_metrics; i++) {
                MetricRun *metric = &run->metrics[i];
                Reason reason = {};
                uint64_t number;

                if (metric->totals)
                        continue;
                if (!text)
                        r = ktrace_call(connection, NULL, "GetStatus", NULL, &text, error);
                if (r < 0)
                        return r;
                r = reading_find_status(text, metric->metric->event, &number, &reason);
                if (r > 0) {
                        (void)snprintf(error->text, sizeof(error->text), "%s", reason.text);
                        return -EBADMSG;
                }
                if (r == 0 && metric->metric->type == METRIC_COUNTER)
                        set_run_follow(&metric->number, &metric->number_before, number);
                else if (r == 0)
                        metric->number = number;
                metric->is_read = metric->is_read || r == 0;
        }
        return r;
}

static int set_run_read_all(SetRun *run, ktrace *connection, ktrace_error *error) {
        bool has_session = source_has_session(run->set), was_there = run->session;
        int r = 0;

        set_run_take_notices(run);
        if (has_session && !run->session)
                r = set_run_attach(run, connection, error);
        if (r == 0 && has_session)
                r = set_run_read_session(run, error);
        if (r == -ENOENT && was_there) { /* the session has ended: the gap shall be short */
                set_run_take_notices(run);
                set_run_detach(run);
                r = set_run_attach(run, connection, error);
                r = r ?: set_run_read_session(run, error);
        }
        r = r ?: set_run_read_status(run, connection, error);
        if (r < 0)
                set_run_detach(run);
        return r;
}

bool set_run_read(SetRun *run, ktrace *connection, uint64_t interval_usec) {
        uint64_t begin_usec = set_run_get_usec(CLOCK_MONOTONIC);
        ktrace_error error = {};

        if (begin_usec < run->due_usec)
                return true;
        int r = set_run_read_all(run, connection, &error);
        uint64_t end_usec = set_run_get_usec(CLOCK_MONOTONIC);
        run->reading_usec += end_usec - begin_usec;
        if (r < 0) {
                set_run_fail(run, *error.text ? error.text : strerror(-r), interval_usec);
                /* Any other name than FAILED is in an answer of ktraced. */
                return *error.name && strcmp(error.name, FAILED) != 0;
        }
        set_run_succeed(run, begin_usec, interval_usec);
        run->read_usec = end_usec;
        run->read_nsec = set_run_get_realtime_nsec();
        return true;
}
