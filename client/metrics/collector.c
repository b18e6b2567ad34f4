/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps the sets that are on, and reads those that are due at each interval. Has a thread of its
 * own, because calls of ktraced block: however slow ktraced is, the main thread serves the last
 * snapshot. main hands over settings under the lock; everything else belongs to the thread.
 *
 * Calls of ktraced have a time limit, so the thread always goes on. It notes the time of each step.
 * main tells systemd's watchdog only while the steps go on.
 *
 * When settings are read again, the sets that have not changed keep their sessions. The others are
 * read a last time. Their metrics go on with the same counts in the new sets. */

#include "metrics/collector.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "interfaces/json.h"
#include "metrics/self.h"
#include "metrics/source.h"
#include "service/log.h"

#define CALL_TIMEOUT_USEC UINT64_C(30000000)
#define USEC_PER_SEC      UINT64_C(1000000)
#define NSEC_PER_SEC      1000000000L
#define NSEC_PER_USEC     1000
/* At its end, the service waits this long for a call that ktraced does not answer. */
#define END_TIMEOUT_SEC 2
#define STALE_MAX       SET_METRICS_MAX

struct Collector {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool ends;      /* under the lock */
        Settings *next; /* under the lock; NULL: no new ones */
        /* When the thread began its current step, or when its sleep ends: CLOCK_MONOTONIC. */
        _Atomic uint64_t step_usec;

        CollectorOptions options;
        Settings *settings;
        SetRun **runs; /* one for each set of the settings */
        size_t n_runs;
        ktrace *connection;     /* NULL: none now */
        char trouble[512];      /* why there is none; "": there is one */
        bool is_unanswered;     /* ktraced did not answer over the last one */
        char *stale[STALE_MAX]; /* probes of sets that are off, to be removed */
        size_t n_stale;
        struct timespec published; /* the last snapshot: CLOCK_MONOTONIC */
        char status[128];          /* as systemd has it */
};

static struct timespec collector_get_now(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return now;
}

static uint64_t collector_to_usec(const struct timespec *time) {
        return (uint64_t)time->tv_sec * USEC_PER_SEC + (uint64_t)time->tv_nsec / NSEC_PER_USEC;
}

/* Before each step that calls ktraced. */
static void collector_step(Collector *collector) {
        struct timespec now = collector_get_now();

        atomic_store(&collector->step_usec, collector_to_usec(&now));
}

uint64_t collector_get_silence_usec(const Collector *collector) {
        uint64_t step_usec = atomic_load(&collector->step_usec);
        struct timespec now = collector_get_now();
        uint64_t now_usec = collector_to_usec(&now);

        return now_usec > step_usec ? now_usec - step_usec : 0;
}

/* The connection */

static void collector_close(Collector *collector) {
        for (size_t i = 0; i < collector->n_runs; i++)
                set_run_detach(collector->runs[i]);
        ktrace_close(collector->connection);
        collector->connection = NULL;
}

static void collector_open(Collector *collector) {
        ktrace_error error = {};

        collector_step(collector);
        int r = ktrace_open(0, &collector->connection, &error);
        if (r == 0) {
                ktrace_set_timeout(collector->connection, CALL_TIMEOUT_USEC);
                collector->trouble[0] = '\0';
                return;
        }
        if (strcmp(collector->trouble, error.text) != 0)
                log_print(LOG_WARNING, "cannot reach ktraced: %s", error.text);
        (void)snprintf(collector->trouble, sizeof(collector->trouble), "%s", error.text);
}

/* Whether ktraced answers at all. A connection over a socket ends with ktraced. */
static bool collector_is_connected(Collector *collector) {
        return ktrace_process(collector->connection) == 0 &&
               ktrace_call(collector->connection, NULL, "GetStatus", NULL, NULL, NULL) == 0;
}

/* Sets after the one that found this are not tried, so none of them logs it. */
static void collector_lose(Collector *collector) {
        if (!collector->is_unanswered)
                log_print(LOG_WARNING, "ktraced does not answer: no set is counted until it does");
        collector->is_unanswered = true;
        collector_close(collector);
}

/* Returns false if the connection has ended, or ktraced does not answer. */
static bool collector_read(Collector *collector, SetRun *run) {
        collector_step(collector);
        bool is_reached = set_run_read(
                        run, collector->connection, collector->settings->interval_usec);

        return is_reached || collector_is_connected(collector);
}

/* Probes of pairs */

static bool collector_has_probe(const Collector *collector, const char *name) {
        for (size_t i = 0; i < collector->n_runs; i++) {
                const Set *set = collector->runs[i]->set;

                for (size_t j = 0; j < set->n_metrics; j++) {
                        _cleanup_free_ char *probe = NULL;

                        if (set->metrics[j].source == SOURCE_PAIR &&
                                        source_name_probe(&set->metrics[j], &probe) == 0 &&
                                        strcmp(probe, name) == 0)
                                return true;
                }
        }
        return false;
}

/* Remembers the probes of a set that is off now. */
static void collector_note_probes(Collector *collector, const Set *set) {
        for (size_t i = 0; i < set->n_metrics && collector->n_stale < STALE_MAX; i++)
                if (set->metrics[i].source == SOURCE_PAIR &&
                                source_name_probe(&set->metrics[i],
                                                &collector->stale[collector->n_stale]) == 0)
                        collector->n_stale++;
}

static int collector_remove_probe(Collector *collector, const char *name) {
        _cleanup_json_ json_object *arguments = json_object_new_object();

        if (!arguments ||
                        json_object_object_add(arguments, "name", json_object_new_string(name)) < 0)
                return -ENOMEM;
        collector_step(collector);
        return ktrace_call(collector->connection,
                        NULL,
                        "RemoveProbe",
                        json_object_to_json_string(arguments),
                        NULL,
                        NULL);
}

/* A session that ends still has its probe for a moment. */
static void collector_remove_probes(Collector *collector) {
        size_t n = 0;

        for (size_t i = 0; i < collector->n_stale; i++) {
                char *name = collector->stale[i];
                int r = collector_has_probe(collector, name)
                                        ? 0
                                        : collector_remove_probe(collector, name);

                if (r == -EBUSY)
                        collector->stale[n++] = name;
                else
                        free(name);
        }
        collector->n_stale = n;
}

/* Settings */

static SetRun *collector_take_same(SetRun **runs, size_t n, const Set *set) {
        for (size_t i = 0; i < n; i++)
                if (runs[i] && set_is_same(runs[i]->set, set)) {
                        set_run_move(runs[i], set);
                        return TAKE_PTR(runs[i]);
                }
        return NULL;
}

static void collector_end_runs(Collector *collector, SetRun **runs, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (!runs[i])
                        continue;
                collector_step(collector);
                if (collector->connection)
                        set_run_end(runs[i], collector->connection);
                collector_note_probes(collector, runs[i]->set);
                set_run_free(runs[i]);
        }
        free(runs);
}

/* Makes the runs of new settings: those of sets that have not changed are taken out of the old
 * ones. Returns NULL without memory; then the old ones are complete. */
static SetRun **collector_make_runs(Collector *collector, const Settings *settings) {
        SetRun **old = collector->runs, **runs = calloc(settings->n_sets + 1, sizeof(*runs));
        size_t n = 0;

        while (runs && n < settings->n_sets && (runs[n] = set_run_new(settings->sets[n])))
                n++;
        if (!runs || n < settings->n_sets) {
                while (n > 0)
                        set_run_free(runs[--n]);
                free(runs);
                return NULL;
        }
        for (size_t i = 0; i < n; i++) {
                SetRun *same = collector_take_same(old, collector->n_runs, settings->sets[i]);

                if (same) {
                        set_run_free(runs[i]);
                        runs[i] = same;
                }
        }
        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; !runs[i]->id && j < collector->n_runs; j++)
                        if (old[j])
                                set_run_inherit(runs[i], old[j]);
        return runs;
}

/* Takes the settings. Without memory the old ones stay. */
static void collector_apply(Collector *collector, Settings *settings) {
        SetRun **old = collector->runs, **runs;
        size_t n_old = collector->n_runs;

        /* Also the sets that stay: a reading harms nothing. */
        for (size_t i = 0; collector->connection && i < n_old; i++) {
                set_run_hasten(old[i]);
                if (!collector_read(collector, old[i]))
                        collector_close(collector);
        }
        runs = collector_make_runs(collector, settings);
        if (!runs) {
                log_print(LOG_ERR, "no memory for the new settings: the old ones stay");
                settings_free(settings);
                return;
        }
        collector->runs = runs;
        collector->n_runs = settings->n_sets;
        collector_end_runs(collector, old, n_old);
        settings_free(collector->settings);
        collector->settings = settings;
}

/* Snapshots */

static int collector_add_metric(MetricSnapshot *snapshot, const MetricRun *run) {
        const SetMetric *metric = run->metric;
        const char *labels[METRIC_LABELS_MAX];
        MetricFamily *family;
        MetricPoint *point;

        for (size_t i = 0; i < metric->n_labels; i++)
                labels[i] = metric->labels[i].name;
        const MetricHead head = {
                .type = metric->type,
                .name = metric->name,
                .help = metric->help,
                .unit = metric->unit,
                .scale = metric->scale,
                .is_log2 = metric->type == METRIC_HISTOGRAM && metric->width == 0,
                .is_private = set_metric_is_private(metric),
                .created_nsec = metric->type == METRIC_GAUGE ? 0 : run->created_nsec,
                .labels = labels,
                .n_labels = metric->n_labels,
        };
        int r = metric_snapshot_add(snapshot, &head, &family);
        if (r < 0 || run->totals)
                return r ?: totals_fill(run->totals, family);
        r = metric_family_add(family, NULL, &point);
        if (r == 0)
                point->number = run->number;
        return r;
}

static int collector_make_snapshot(const Collector *collector, MetricSnapshot **ret) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail with this clock */
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot =
                        metric_snapshot_new(now.tv_sec * NSEC_PER_SEC + now.tv_nsec);
        int r = snapshot ? self_fill(snapshot, collector->runs, collector->n_runs) : -ENOMEM;
        r = r ?: collector->options.fill(snapshot, collector->options.userdata);

        for (size_t i = 0; r == 0 && i < collector->n_runs; i++)
                for (size_t j = 0; r == 0 && j < collector->runs[i]->set->n_metrics; j++)
                        if (collector->runs[i]->metrics[j].is_read)
                                r = collector_add_metric(snapshot, &collector->runs[i]->metrics[j]);
        if (r == 0)
                *ret = TAKE_PTR(snapshot);
        return r;
}

static void collector_report_status(Collector *collector) {
        char status[sizeof(collector->status)];
        size_t n_up = 0;

        for (size_t i = 0; i < collector->n_runs; i++)
                n_up += collector->runs[i]->is_up;
        if (collector->n_runs == 0)
                (void)snprintf(status, sizeof(status), "No set is on.");
        else
                (void)snprintf(status,
                                sizeof(status),
                                "%zu of %zu sets are counted.",
                                n_up,
                                collector->n_runs);
        if (strcmp(status, collector->status) == 0)
                return;
        memcpy(collector->status, status, sizeof(status));
        (void)sd_notifyf(0, "STATUS=%s", status);
}

/* The thread */

static void collector_publish(Collector *collector) {
        MetricSnapshot *snapshot = NULL;

        int r = collector_make_snapshot(collector, &snapshot);
        if (r == 0)
                board_publish(collector->options.board, snapshot);
        else
                log_print(LOG_ERR, "no snapshot: %s", strerror(-r));
        collector->published = collector_get_now();
        collector_report_status(collector);
}

/* Readings that take long, such as the first ones, shall not delay what has been read. */
static void collector_publish_late(Collector *collector) {
        struct timespec now = collector_get_now();

        if ((uint64_t)(now.tv_sec - collector->published.tv_sec) * USEC_PER_SEC >
                        collector->settings->interval_usec)
                collector_publish(collector);
}

static void collector_turn(Collector *collector) {
        /* It may be that no set is due, and that none would find that ktraced has gone. */
        if (collector->connection && ktrace_process(collector->connection) != 0)
                collector_close(collector);
        if (!collector->connection && collector->n_runs > 0)
                collector_open(collector);
        for (size_t i = 0; collector->connection && i < collector->n_runs; i++) {
                if (!collector_read(collector, collector->runs[i]))
                        collector_lose(collector);
                collector_publish_late(collector);
        }
        if (collector->connection) {
                collector->is_unanswered = false;
                collector_remove_probes(collector);
        }
        collector_publish(collector);
        (void)malloc_trim(0); /* the answer with a large table takes megabytes for a moment */
}

static bool collector_is_before(const struct timespec *a, const struct timespec *b) {
        return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* The intervals do not depend on how long a reading takes, unless it takes longer. A reading begins
 * with a second of the clock: ktraced answers for sessions without records at that time, and would
 * let others wait for it. */
static void collector_schedule(const Collector *collector, struct timespec *due) {
        uint64_t usec = collector->settings->interval_usec;
        struct timespec now = collector_get_now();

        due->tv_sec += (time_t)((usec + USEC_PER_SEC - 1) / USEC_PER_SEC);
        if (collector_is_before(due, &now))
                due->tv_sec = now.tv_sec + 1;
        due->tv_nsec = 0;
}

/* Waits until the time, for new settings or for the end. Returns false at the end. */
static bool collector_wait(Collector *collector, const struct timespec *due, Settings **ret) {
        int r = 0;

        atomic_store(&collector->step_usec, collector_to_usec(due));
        (void)pthread_mutex_lock(&collector->lock);
        while (r == 0 && !collector->ends && !collector->next)
                r = pthread_cond_timedwait(&collector->changed, &collector->lock, due);
        *ret = TAKE_PTR(collector->next);
        bool ends = collector->ends;
        (void)pthread_mutex_unlock(&collector->lock);
        collector_step(collector);
        return !ends;
}

static void *collector_run(void *userdata) {
        Collector *collector = userdata;
        struct timespec due = collector_get_now();
        Settings *settings = NULL;

        (void)pthread_setname_np(pthread_self(), "collector");
        while (collector_wait(collector, &due, &settings)) {
                if (settings) {
                        collector_apply(collector, TAKE_PTR(settings));
                        collector_publish(collector);
                        due = collector_get_now();
                }
                collector_turn(collector);
                collector_schedule(collector, &due);
        }
        settings_free(settings);
        return NULL;
}

/* Signals are for the main thread. */
static int collector_start(Collector *collector) {
        sigset_t all, before;

        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_BLOCK, &all, &before);
        int r = pthread_create(&collector->thread, NULL, collector_run, collector);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

static void collector_done(Collector *collector) {
        if (collector->connection)
                collector_close(collector);
        for (size_t i = 0; i < collector->n_runs; i++)
                set_run_free(collector->runs[i]);
        free(collector->runs);
        for (size_t i = 0; i < collector->n_stale; i++)
                free(collector->stale[i]);
        settings_free(collector->settings);
        settings_free(collector->next);
        (void)pthread_cond_destroy(&collector->changed);
        (void)pthread_mutex_destroy(&collector->lock);
        free(collector);
}

int collector_new(Settings *settings, const CollectorOptions *options, Collector **ret) {
        Collector *collector = calloc(1, sizeof(*collector));
        pthread_condattr_t attributes;

        if (!collector)
                return -ENOMEM;
        *collector = (Collector){ .options = *options, .settings = calloc(1, sizeof(Settings)) };
        collector_step(collector);
        (void)pthread_mutex_init(&collector->lock, NULL); /* cannot fail on Linux, as the next */
        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&collector->changed, &attributes);
        (void)pthread_condattr_destroy(&attributes);
        collector->next = settings;
        int r = collector->settings ? collector_start(collector) : -ENOMEM;
        if (r < 0) {
                collector->next = NULL;
                collector_done(collector);
                return r;
        }
        *ret = collector;
        return 0;
}

void collector_reload(Collector *collector, Settings *settings) {
        (void)pthread_mutex_lock(&collector->lock);
        Settings *before = collector->next;
        collector->next = settings;
        (void)pthread_cond_signal(&collector->changed);
        (void)pthread_mutex_unlock(&collector->lock);
        settings_free(before);
}

Collector *collector_free(Collector *collector) {
        struct timespec until = {};

        if (!collector)
                return NULL;
        (void)pthread_mutex_lock(&collector->lock);
        collector->ends = true;
        (void)pthread_cond_signal(&collector->changed);
        (void)pthread_mutex_unlock(&collector->lock);
        (void)clock_gettime(CLOCK_REALTIME, &until); /* cannot fail with this clock */
        until.tv_sec += END_TIMEOUT_SEC;
        if (pthread_timedjoin_np(collector->thread, NULL, &until) != 0)
                return collector;
        collector_done(collector);
        return NULL;
}
