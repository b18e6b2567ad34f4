/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A cache of the kernel's functions and types. Called by probe-set.c and probe-verbs.c in the event
 * loop. The kernel lists several megabytes of functions and types, and reading them takes up to 0.2
 * s. Calls have them read in the worker thread before they need them. The cache is kept while
 * definitions arrive, and freed after some time without one. A module that is loaded or unloaded in
 * that time is not noticed until then. This is harmless, because the kernel checks each probe
 * itself. */

#include "probes/probes.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "define/describe-function.h"

#define KEEP_USEC (5 * UINT64_C(1000000))

typedef struct ProbesWait {
        ProbesHandler done;
        void *userdata;
        TAILQ_ENTRY(ProbesWait) others;
} ProbesWait;

struct Probes {
        ProbeKernel *kernel; /* NULL: not read, or freed */
        sd_event_source *timer;

        TAILQ_HEAD(ProbesWaitList, ProbesWait) waiting; /* empty: no read in progress */
        Plan plan;
        const Tracefs *tracefs;
        ProbeKernel *loaded; /* owned by the worker while the plan runs */
};

static int probes_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Probes *probes = userdata;

        probes->kernel = probe_kernel_free(probes->kernel);
        (void)malloc_trim(0);
        return 0;
}

int probes_new(sd_event *event, Probes **ret) {
        _cleanup_(probes_free_cleanup) Probes *probes = calloc(1, sizeof(*probes));

        if (!probes)
                return -ENOMEM;
        TAILQ_INIT(&probes->waiting);
        int r = sd_event_add_time(event,
                        &probes->timer,
                        CLOCK_MONOTONIC,
                        0,
                        KEEP_USEC / 10,
                        probes_on_timer,
                        probes);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(probes->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(probes);
        return 0;
}

Probes *probes_free(Probes *probes) {
        if (!probes)
                return NULL;
        sd_event_source_disable_unref(probes->timer);
        probe_kernel_free(probes->kernel);
        free(probes);
        return NULL;
}

bool probes_are_loaded(const Probes *probes) {
        return probes->kernel;
}

static int probes_keep_for_a_while(Probes *probes) {
        int r = sd_event_source_set_time_relative(probes->timer, KEEP_USEC);

        return r < 0 ? r : sd_event_source_set_enabled(probes->timer, SD_EVENT_ONESHOT);
}

/* Worker thread */
static int step_load(void *context, Reason *reason _unused_) {
        Probes *probes = context;

        return probe_kernel_load(probes->tracefs, &probes->loaded);
}

static void probes_on_loaded(Plan *plan, int result, const Reason *reason _unused_) {
        Probes *probes = plan->userdata;
        struct ProbesWaitList waiting = TAILQ_HEAD_INITIALIZER(waiting);
        ProbesWait *wait;

        if (probes->kernel) /* read by a call that could not wait */
                probes->loaded = probe_kernel_free(probes->loaded);
        else
                probes->kernel = TAKE_PTR(probes->loaded);
        if (probes->kernel)
                (void)probes_keep_for_a_while(probes);
        TAILQ_CONCAT(&waiting, &probes->waiting, others);
        while ((wait = TAILQ_FIRST(&waiting))) {
                TAILQ_REMOVE(&waiting, wait, others);
                wait->done(result, wait->userdata);
                free(wait);
        }
}

int probes_load(Probes *probes,
                Worker *worker,
                const Tracefs *tracefs,
                uid_t uid,
                ProbesHandler done,
                void *userdata) {
        static const PlanStep step = { "load", step_load, NULL };
        bool is_loading = !TAILQ_EMPTY(&probes->waiting);
        ProbesWait *wait = malloc(sizeof(*wait));

        if (!wait)
                return -ENOMEM;
        *wait = (ProbesWait){ .done = done, .userdata = userdata };
        TAILQ_INSERT_TAIL(&probes->waiting, wait, others);
        if (is_loading)
                return 0;
        probes->tracefs = tracefs;
        probes->plan = (Plan){
                .uid = uid, .context = probes, .done = probes_on_loaded, .userdata = probes
        };
        plan_init(&probes->plan, &step, 1, NULL);
        worker_submit(worker, &probes->plan);
        return 0;
}

static int probes_get_kernel(Probes *probes, const Tracefs *tracefs, ProbeKernel **ret) {
        int r = probes->kernel ? 0 : probe_kernel_load(tracefs, &probes->kernel);

        if (r < 0)
                return r;
        r = probes_keep_for_a_while(probes);
        if (r < 0)
                return r;
        *ret = probes->kernel;
        return 0;
}

int probes_resolve_function(Probes *probes,
                const Tracefs *tracefs,
                const char *function,
                json_object **ret,
                Reason *reason) {
        ProbeKernel *kernel;
        ProbeFunction found;

        int r = probes_get_kernel(probes, tracefs, &kernel);
        r = r ?: probe_function_find(kernel, function, &found, reason);
        return r ?: probe_function_describe(&found, ret);
}

int probes_compile(Probes *probes,
                const Tracefs *tracefs,
                const Definition *definition,
                ProbeForm **ret,
                Reason *reason) {
        ProbeKernel *kernel;

        int r = probes_get_kernel(probes, tracefs, &kernel);
        return r ?: probe_compile(kernel, definition, ret, reason);
}

int probes_check_raw(Probes *probes, const Tracefs *tracefs, const char *line, Reason *reason) {
        _cleanup_free_ char *place = NULL;
        ProbeKernel *kernel;

        if (sscanf(line, "%*s %ms", &place) != 1)
                return 0;
        /* Without the lists only the kernel decides. */
        if (probes_get_kernel(probes, tracefs, &kernel) < 0)
                return 0;
        return probe_function_check_allowed(kernel, place, reason);
}
