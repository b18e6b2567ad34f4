/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A cache of the kernel's functions and types. Called by the other files of this folder in the
 * event loop. The kernel lists several megabytes of functions and types, and reading them takes up
 * to 0.2 s. So they are read in the worker thread, and who finds them absent waits
 * (probe_set_await). The cache is kept while definitions arrive, and freed after some time without
 * one. A module that is loaded or unloaded in that time is not noticed until then. This is
 * harmless, because the kernel checks each probe itself. A failure to read them is kept for the
 * same time, so that calls cannot repeat the attempt in a loop. */

#include "probes/probes.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "define/describe-function.h"

#define KEEP_USEC (5 * UINT64_C(1000000))

struct Probes {
        ProbeKernel *kernel; /* NULL: not read, or freed */
        int error;           /* why it could not be read; 0: it was, or not tried */
        uint64_t number;     /* of the last read */
        sd_event_source *timer;
        void (*on_loaded)(void *userdata);
        void *userdata;

        bool is_loading;
        Plan plan;
        const Tracefs *tracefs;
        ProbeKernel *loaded; /* owned by the worker while the plan runs */
};

static int probes_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Probes *probes = userdata;

        probes->kernel = probe_kernel_free(probes->kernel);
        probes->error = 0;
        (void)malloc_trim(0);
        return 0;
}

int probes_new(sd_event *event, void (*on_loaded)(void *userdata), void *userdata, Probes **ret) {
        _cleanup_(probes_free_cleanup) Probes *probes = calloc(1, sizeof(*probes));

        if (!probes)
                return -ENOMEM;
        probes->on_loaded = on_loaded;
        probes->userdata = userdata;
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

uint64_t probes_get_number(const Probes *probes) {
        return probes->kernel ? probes->number : 0;
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

/* Consumes the kernel. */
static void probes_take(Probes *probes, ProbeKernel *kernel, int result) {
        probe_kernel_free(probes->kernel);
        probes->kernel = kernel;
        probes->error = result;
        probes->number++;
        (void)probes_keep_for_a_while(probes);
}

static void probes_on_read(Plan *plan, int result, const Reason *reason _unused_) {
        Probes *probes = plan->userdata;

        probes->is_loading = false;
        if (result > 0) /* the daemon ends */
                return;
        probes_take(probes, TAKE_PTR(probes->loaded), result);
        probes->on_loaded(probes->userdata);
}

void probes_load(Probes *probes, Worker *worker, const Tracefs *tracefs, uid_t uid) {
        static const PlanStep step = { "load", step_load, NULL };

        if (probes->is_loading)
                return;
        probes->is_loading = true;
        probes->tracefs = tracefs;
        probes->plan = (Plan){ .uid = uid,
                .urgent = true, /* calls of other users may wait for it */
                .context = probes,
                .done = probes_on_read,
                .userdata = probes };
        plan_init(&probes->plan, &step, 1, NULL);
        worker_submit(worker, &probes->plan);
}

void probes_load_now(Probes *probes, const Tracefs *tracefs) {
        ProbeKernel *kernel = NULL;

        int r = probe_kernel_load(tracefs, &kernel);
        probes_take(probes, kernel, r);
}

static int probes_get_kernel(Probes *probes, ProbeKernel **ret) {
        if (!probes->kernel)
                return probes->error ?: PROBES_ABSENT;
        int r = probes_keep_for_a_while(probes);
        if (r < 0)
                return r;
        *ret = probes->kernel;
        return 0;
}

int probes_resolve_function(Probes *probes,
                const char *function,
                json_object **ret,
                Reason *reason) {
        ProbeKernel *kernel = NULL;
        ProbeFunction found;

        int r = probes_get_kernel(probes, &kernel);
        r = r ?: probe_function_find(kernel, function, &found, reason);
        return r ?: probe_function_describe(&found, ret);
}

int probes_compile(Probes *probes, const Definition *definition, ProbeForm **ret, Reason *reason) {
        ProbeKernel *kernel = NULL;

        int r = probes_get_kernel(probes, &kernel);
        return r ?: probe_compile(kernel, definition, ret, reason);
}

int probes_check_raw(Probes *probes, const char *line, Reason *reason) {
        _cleanup_free_ char *place = NULL;
        ProbeKernel *kernel = NULL;

        if (sscanf(line, "%*s %ms", &place) != 1)
                return 0;
        int r = probes_get_kernel(probes, &kernel);
        if (r < 0) /* if the lists cannot be read, only the kernel decides */
                return r == PROBES_ABSENT ? r : 0;
        return probe_function_check_allowed(kernel, place, reason);
}
