/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is known of the kernel's functions and types. Called by probe-set.c and probe-verbs.c in the
 * event loop. What the kernel tells of its
 * functions and types is some megabytes that take up to 0.2 s to read: kept while definitions come
 * one after the other, and given back when none has come for a while. A module that comes or goes
 * meanwhile is not noticed until then; the kernel has the last word on each probe anyway. */

#include "probes.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "registry.h"

#define KEEP_USEC (5 * UINT64_C(1000000))

struct Probes {
        ProbeKernel *kernel; /* NULL: not read, or given back */
        sd_event_source *timer;
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

static int probes_get_kernel(Probes *probes, const Tracefs *tracefs, ProbeKernel **ret) {
        int r = probes->kernel ? 0 : probe_kernel_load(tracefs, &probes->kernel);

        if (r < 0)
                return r;
        r = sd_event_source_set_time_relative(probes->timer, KEEP_USEC);
        if (r >= 0)
                r = sd_event_source_set_enabled(probes->timer, SD_EVENT_ONESHOT);
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
        /* Without its lists the kernel decides alone. */
        if (probes_get_kernel(probes, tracefs, &kernel) < 0)
                return 0;
        return probe_function_check_allowed(kernel, place, reason);
}
