/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps instances ready, so that CreateSession need not wait for the kernel: it takes 40 to 60 ms
 * to make one and to set its clock and buffer. session/create.c takes them.
 *
 * An instance that was used is never prepared again: only rmdir proves that no process has a
 * descriptor of its ring. The worker makes and removes them, one in each plan, after a pause
 * without plans of sessions. Sessions have precedence: when they need the memory that the limits
 * allow for all, the pool becomes smaller. Instances that a killed daemon leaves are orphans
 * (orphans.c). */

#include "session/pool.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "base/log.h"
#include "base/random-id.h"
#include "session/quota.h"
#include "session/registry-idle.h"
#include "trace/trace-size.h"

#define POOL_MAX   2
#define PAUSE_USEC 100000

struct Pool {
        Registry *registry;
        Spec *spec; /* the defaults, for clock and buffer */
        sd_event_source *timer;
        bool is_wanted; /* a session was made */
        bool has_failed;
        Instance *ready[POOL_MAX]; /* the oldest first */
        size_t n;
        Plan plan;
        bool is_in_flight;
        /* Of the plan: an instance to be removed, or the one that it makes. */
        Instance *old, *made;
};

static void pool_remove(const Tracefs *tracefs, Instance *instance) {
        _cleanup_free_ char *name = TAKE_PTR(instance->name);

        instance_free(instance); /* its descriptors would keep it */
        int r = instance_remove(tracefs, name);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove the prepared instance %s", name);
}

static uint64_t pool_get_kb_of_one(const Pool *pool) {
        return pool->spec->buffer_kb * pool->registry->n_cpus;
}

static bool pool_fits(const Pool *pool, size_t n) {
        const Limits *limits = &pool->registry->options.limits;
        uint64_t kb = n * pool_get_kb_of_one(pool);
        Usage usage;

        registry_get_usage(pool->registry, 0, &usage);
        return kb <= limits->max_prepared_kb && n + usage.n_sessions <= limits->max_sessions &&
               kb + usage.buffer_kb <= limits->max_buffer_kb_total;
}

static size_t pool_count_wanted(const Pool *pool) {
        size_t n = pool->is_wanted && !pool->has_failed ? POOL_MAX : 0;

        while (n > 0 && !pool_fits(pool, n))
                n--;
        return n;
}

static bool pool_has_work(const Pool *pool) {
        return pool->n != pool_count_wanted(pool);
}

static bool pool_is_registry_busy(const Registry *registry) {
        const Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
                if (session->plan_in_flight || session->state == SESSION_CREATING)
                        return true;
        return !TAILQ_EMPTY(&registry->creations) || registry->orphans || registry->n_adopting > 0;
}

static int pool_step_make(void *context, Reason *reason _unused_) {
        Pool *pool = context;
        char id[KT_ID_DIGITS + 1];

        int r = random_id_make(id);
        return r ?: instance_create(pool->registry->tracefs, id, &pool->made);
}

static void pool_undo_make(void *context) {
        Pool *pool = context;

        if (pool->made)
                pool_remove(pool->registry->tracefs, TAKE_PTR(pool->made));
}

static int pool_step_buffer(void *context, Reason *reason _unused_) {
        const Pool *pool = context;

        return trace_size_buffer(pool->made, pool->spec->buffer_kb);
}

static int pool_step_clock(void *context, Reason *reason) {
        const Pool *pool = context;

        return instance_set_clock(pool->made, pool->spec->clock, reason);
}

static const PlanStep make_steps[] = {
        { "make", pool_step_make, pool_undo_make },
        { "buffer", pool_step_buffer, NULL },
        { "clock", pool_step_clock, NULL },
};

static int pool_step_remove(void *context, Reason *reason _unused_) {
        Pool *pool = context;

        pool_remove(pool->registry->tracefs, TAKE_PTR(pool->old));
        return 0;
}

static const PlanStep remove_steps[] = {
        { "remove", pool_step_remove, NULL },
};

/* After a failure, sessions make their instances themselves, and report why they cannot. */
static void pool_on_plan(Plan *plan, int result, const Reason *reason) {
        Pool *pool = plan->userdata;

        pool->is_in_flight = false;
        if (pool->made)
                pool->ready[pool->n++] = TAKE_PTR(pool->made);
        if (result > 0 && result != KT_E_CANCELLED)
                log_warning("cannot prepare an instance: %s", reason->text);
        else if (result < 0)
                log_errno(result, LOG_WARNING, NULL, "cannot prepare an instance");
        pool->has_failed = pool->has_failed || result != 0;
        if (!pool->registry->is_closing)
                registry_idle_changed(pool->registry);
}

static void pool_submit(Pool *pool, const PlanStep *steps, size_t n_steps) {
        pool->plan = (Plan){ .context = pool, .done = pool_on_plan, .userdata = pool };
        plan_init(&pool->plan, steps, n_steps, NULL);
        pool->is_in_flight = true;
        worker_submit(pool->registry->worker, &pool->plan);
}

static int pool_on_timer(sd_event_source *source _unused_, uint64_t usec _unused_, void *userdata) {
        Pool *pool = userdata;

        if (pool->is_in_flight || !pool_has_work(pool))
                return 0;
        if (pool_is_registry_busy(pool->registry))
                pool_settle(pool);
        else if (pool->n < pool_count_wanted(pool))
                pool_submit(pool, make_steps, ELEMENTSOF(make_steps));
        else {
                pool->old = pool->ready[--pool->n];
                pool_submit(pool, remove_steps, ELEMENTSOF(remove_steps));
        }
        return 0;
}

void pool_settle(Pool *pool) {
        if (!pool || pool->registry->is_closing || pool->is_in_flight || !pool_has_work(pool))
                return;
        (void)sd_event_source_set_time_relative(pool->timer, PAUSE_USEC);
        (void)sd_event_source_set_enabled(pool->timer, SD_EVENT_ONESHOT);
}

bool pool_is_idle(const Pool *pool) {
        return !pool->is_in_flight;
}

int pool_describe(const Pool *pool, json_object *object) {
        json_object *ids = json_object_new_array();
        int r = describe_put(object, "prepared", ids);

        for (size_t i = 0; r == 0 && i < pool->n; i++)
                r = describe_append(ids,
                                json_object_new_string(
                                                pool->ready[i]->name + strlen(KT_INSTANCE_PREFIX)));
        return r
                               ?: describe_put(object,
                                                  "prepared-kb",
                                                  json_object_new_uint64(pool->n *
                                                                         pool_get_kb_of_one(pool)));
}

Instance *pool_take(Pool *pool, const Spec *spec, char id[static KT_ID_DIGITS + 1]) {
        pool->is_wanted = true;
        if (pool->n == 0 || spec->instance || spec->shares ||
                        spec->buffer_kb != pool->spec->buffer_kb ||
                        strcmp(spec->clock, pool->spec->clock) != 0)
                return NULL;
        Instance *instance = pool->ready[0];

        pool->n--;
        memmove(pool->ready, pool->ready + 1, pool->n * sizeof(*pool->ready));
        memcpy(id, instance->name + strlen(KT_INSTANCE_PREFIX), KT_ID_DIGITS + 1);
        return instance;
}

int pool_new(Registry *registry, Pool **ret) {
        _cleanup_(pool_free_cleanup) Pool *pool = calloc(1, sizeof(*pool));

        if (!pool)
                return -ENOMEM;
        pool->registry = registry;
        pool->spec = spec_new();
        if (!pool->spec)
                return -ENOMEM;
        int r = sd_event_add_time_relative(registry->options.event,
                        &pool->timer,
                        CLOCK_MONOTONIC,
                        0,
                        0,
                        pool_on_timer,
                        pool);
        if (r >= 0)
                r = sd_event_source_set_enabled(pool->timer, SD_EVENT_OFF);
        if (r >= 0)
                *ret = TAKE_PTR(pool);
        return r < 0 ? r : 0;
}

Pool *pool_free(Pool *pool) {
        if (!pool)
                return NULL;
        while (pool->n > 0)
                pool_remove(pool->registry->tracefs, pool->ready[--pool->n]);
        if (pool->old)
                pool_remove(pool->registry->tracefs, pool->old);
        sd_event_source_disable_unref(pool->timer);
        spec_free(pool->spec);
        free(pool);
        return NULL;
}
