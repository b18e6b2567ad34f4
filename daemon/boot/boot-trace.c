/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A boot trace in the kernel: look at it, stop it, and clean up. boot.c makes the plans and submits
 * them. Their steps run on the worker thread. This is the only place that changes the top buffer,
 * and only if our words have enabled every event that is on in it. A top buffer that another
 * program uses is left alone.
 *
 * It relies on this kernel behaviour: the removal of a probe empties the buffers in which the probe
 * was on. Therefore the probes are removed last. */

#include "boot/boot-trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random-id.h"
#include "interfaces/defence.h"
#include "interfaces/spec-list.h"
#include "kernel/buffer.h"
#include "kernel/path.h"
#include "kernel/probe-group.h"
#include "kernel/statistics-total.h"
#include "kernel/top.h"
#include "policy/grant.h"
#include "trace/metadata.h"

/* Used if the CPUs have different sizes, because another program changed one. The consumer must
 * know the largest size that it may have to hold. */
#define SIZE_UNKNOWN_KB (64 * 1024)

static int boot_trace_fill(BootTrace *boot, Tracefs *tracefs) {
        Trace *trace = &boot->trace;

        int r = random_id_make(trace->id);
        if (r < 0)
                return r;
        trace->tracefs = tracefs;
        trace->spec = boot->spec;
        trace->grant = boot->grant;
        trace->owner = &boot->owner;
        trace->boot_words = boot->line->text;
        return 0;
}

static int boot_trace_make_spec(BootTrace *boot, const Limits *limits) {
        const BootLine *line = boot->line;
        int r = 0;

        boot->spec->scope = SCOPE_SYSTEM;
        boot->spec->has_scope = true;
        boot->spec->mode = line->keeps_oldest ? MODE_STREAM : MODE_FLIGHT;
        boot->spec->unredacted = true;
        boot->spec->lifetime = LIFETIME_LINGER;
        boot->spec->name = strdup(line->mark.name);
        boot->grant->rule = strdup("kernel command line");
        boot->grant->addresses = ADDRESS_KEEP;
        boot->grant->limits = *limits;
        if (!boot->spec->name || !boot->grant->rule)
                return -ENOMEM;
        /* For the receipt. Words that a spec cannot hold are kept as text. */
        for (size_t i = 0; r >= 0 && i < line->n_events; i++)
                r = spec_add_event(boot->spec, line->events[i], NULL, NULL);
        return MIN_OF(r, 0);
}

int boot_trace_init(BootTrace *boot, BootLine *line, Tracefs *tracefs, const Limits *limits) {
        *boot = (BootTrace){};
        trace_init(&boot->trace);
        boot->spec = spec_new();
        boot->grant = calloc(1, sizeof(*boot->grant));
        boot->owner.gids = calloc(1, sizeof(gid_t));
        boot->owner.n_gids = 1;
        boot->line = line;
        int r = boot->spec && boot->grant && boot->owner.gids ? boot_trace_fill(boot, tracefs)
                                                              : -ENOMEM;
        r = r ?: boot_trace_make_spec(boot, limits);
        if (r < 0)
                boot->line = NULL; /* the caller's */
        return r;
}

void boot_trace_clear(BootTrace *boot) {
        trace_clear(&boot->trace);
        subject_clear(&boot->owner);
        spec_free(boot->spec);
        grant_free(boot->grant);
        boot_line_free(boot->line);
}

static int boot_trace_open_instance(BootTrace *boot, Reason *reason) {
        const char *name = boot->line->mark.name;

        if (!boot->line->is_instance)
                return top_open(boot->trace.tracefs, &boot->trace.instance);
        int r = instance_open(boot->trace.tracefs, name, &boot->trace.instance);
        if (r == -ENOENT)
                return reason_set(reason,
                                KT_E_FAILED,
                                "the kernel has made no instance %s: does it know trace_instance= or "
                                "bootconfig?",
                                name);
        return r;
}

static int check_tracer(const BootTrace *boot, Reason *reason) {
        bool is_idle;

        if (boot->line->is_instance)
                return 0;
        int r = top_is_idle(boot->trace.instance, &is_idle);
        if (r == 0 && !is_idle)
                r = reason_set(reason,
                                KT_E_FAILED,
                                "another user traces functions with the top buffer");
        return r;
}

/* Fails if an event is on that our words did not enable. */
static int check_enabled(BootTrace *boot, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        char *rest, *event;

        int r = top_read_enabled(boot->trace.instance, &text);
        rest = text;
        while (r == 0 && (event = strsep(&rest, "\n"))) {
                if (*event)
                        boot->is_empty = false;
                if (*event && !boot_line_has(boot->line, event) && defence_is_on("boot-others"))
                        r = reason_set(reason,
                                        KT_E_FAILED,
                                        "another user has also turned on %s",
                                        event);
        }
        return r;
}

/* "# Current" in the first line means that the current boot has filled the buffer. Linux 6.12 does
 * not say it. There, a buffer without records was not filled by the last boot. */
static int look_for_last_boot(BootTrace *boot) {
        _cleanup_free_ char *text = NULL;

        if (!boot->line->is_persistent)
                return 0;
        int r = tracefs_read(boot->trace.instance->fd, "last_boot_info", &text, NULL);
        if (r == 0)
                boot->is_of_crash = strncmp(text, "# Current", strlen("# Current")) != 0;
        return r == -ENOENT ? 0 : r;
}

static int boot_trace_count(BootTrace *boot) {
        CpuStatistics total;

        int r = statistics_total_read(boot->trace.instance, boot->trace.n_cpus, &total);
        if (r < 0)
                return r;
        bool has_records = total.entries > 0;
        boot->is_empty = boot->is_empty && !has_records;
        boot->is_of_crash = boot->is_of_crash && has_records;
        return 0;
}

static int boot_trace_step_open(void *context, Reason *reason) {
        BootTrace *boot = context;
        Trace *trace = &boot->trace;

        boot->is_empty = true;
        trace->instance = instance_free(trace->instance);
        int r = boot_trace_open_instance(boot, reason);
        r = r ?: check_tracer(boot, reason);
        r = r ?: check_enabled(boot, reason);
        r = r ?: look_for_last_boot(boot);
        r = r ?: instance_get_subbuf_size(trace->instance, &trace->subbuf_size);
        r = r ?: instance_n_cpus(trace->instance, &trace->n_cpus);
        r = r ?: tracefs_read_u64(trace->instance->fd, "buffer_percent", &boot->percent);
        return r ?: boot_trace_count(boot);
}

/* Linux 6.1 makes the directories of events and the probes of the command line at the same time. A
 * probe that it makes in between has no directory during this boot. */
static bool has_format(const BootTrace *boot, const char *system, const char *name) {
        TracefsPath path;

        if (path_format(&path, "events", system, name, "format", NULL) < 0 ||
                        faccessat(boot->trace.tracefs->fd, path.text, F_OK, 0) < 0) {
                log_warning("the boot trace %s: the kernel has made no format for %s:%s, so its records cannot be read",
                                boot->line->mark.name,
                                system,
                                name);
                return false;
        }
        return true;
}

/* Grants every event that the words may have enabled, even if it is off now: its format is needed.
 */
static int grant_events(BootTrace *boot, const EventList *list) {
        Grant *grant = boot->grant;

        for (size_t i = 0; i < grant->n_events; i++)
                grant_event_clear(&grant->events[i]);
        free(grant->events);
        grant->n_events = 0;
        grant->events = calloc(list->n_names + 1, sizeof(*grant->events));
        if (!grant->events)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_names; i++) {
                const char *name = list->names[i], *colon = strchr(name, ':');
                GrantEvent *event = &grant->events[grant->n_events];

                if (!colon || !boot_line_has(boot->line, name))
                        continue;
                grant->n_events++;
                event->system = strndup(name, (size_t)(colon - name));
                event->name = strdup(colon + 1);
                if (!event->system || !event->name)
                        return -ENOMEM;
                if (boot->skips_missing && !has_format(boot, event->system, event->name)) {
                        grant_event_clear(event);
                        *event = (GrantEvent){};
                        grant->n_events--;
                }
        }
        return 0;
}

/* "local global [mono]" */
static int boot_trace_read_clock(BootTrace *boot) {
        _cleanup_free_ char *text = NULL;
        char *begin, *end;

        int r = tracefs_read(boot->trace.instance->fd, "trace_clock", &text, NULL);
        if (r < 0)
                return r;
        begin = strchr(text, '[');
        end = begin ? strchr(begin, ']') : NULL;
        if (!end)
                return -EBADMSG;
        free(boot->spec->clock);
        boot->spec->clock = strndup(begin + 1, (size_t)(end - begin - 1));
        return boot->spec->clock ? 0 : -ENOMEM;
}

static int step_describe(void *context, Reason *reason _unused_) {
        BootTrace *boot = context;
        Trace *trace = &boot->trace;
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;
        uint64_t kb;

        int r = boot_trace_read_clock(boot);
        if (tracefs_read_u64(trace->instance->fd, "buffer_size_kb", &kb) != 0)
                kb = SIZE_UNKNOWN_KB;
        spec_settle_buffer(boot->spec, kb);
        boot->spec->stacktrace = boot->line->has_stacks;
        r = r ?: event_list_load(trace->tracefs, NULL, &list);
        r = r ?: grant_events(boot, list);
        close_cleanup(&trace->metadata_fd);
        return r ?: metadata_make(trace, &trace->metadata_fd);
}

/* Events that are already off stay off. Events that another program has enabled since the look stay
 * on. */
static int step_stop(void *context, Reason *reason _unused_) {
        BootTrace *boot = context;
        Trace *trace = &boot->trace;
        _cleanup_free_ char *text = NULL;
        char *rest, *event;

        if (boot->is_of_crash)
                return 0;
        int r = top_read_enabled(trace->instance, &text);
        rest = text;
        while (r == 0 && (event = strsep(&rest, "\n")))
                if (*event && boot_line_has(boot->line, event))
                        r = top_turn_off(trace->instance, event);
        if (r < 0)
                return r;
        if (buffer_wait_quiet(trace->instance) < 0)
                log_warning("the boot trace does not come to rest");
        if (metadata_make_names(trace, &trace->names_fd) < 0)
                log_warning("cannot read the saved command names of the boot trace");
        return 0;
}

static bool boot_trace_keeps_probe(const char *event,
                size_t size _unused_,
                void *userdata _unused_) {
        return strncmp(event, BOOT_GROUP "/", strlen(BOOT_GROUP "/")) != 0;
}

/* A failure is logged and has no further effect: the next boot starts afresh.
 */
static void put_back(const BootTrace *boot, const char *path, uint64_t value) {
        char text[24];

        (void)snprintf(text, sizeof(text), "%" PRIu64, value);
        int r = tracefs_write(boot->trace.instance->fd, path, text);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot put back %s after the boot trace", path);
}

static int step_clean(void *context, Reason *reason _unused_) {
        BootTrace *boot = context;
        const ProbeKeeper keeper = { boot_trace_keeps_probe, NULL };
        const Tracefs *tracefs = boot->trace.tracefs;
        int r = 0;

        put_back(boot, "buffer_percent", boot->percent);
        if (boot->line->keeps_oldest)
                put_back(boot, "options/overwrite", 1);
        if (boot->line->has_stacks)
                put_back(boot, "options/stacktrace", 0);
        /* The events of a persistent instance have stayed on. From now on it records for the next
         * crash. */
        if (boot->line->is_persistent)
                put_back(boot, "tracing_on", 1);
        boot->trace.instance = instance_free(boot->trace.instance);
        if (boot->line->has_probes)
                r = probe_remove_groups(tracefs, BOOT_GROUP, &keeper);
        if (r == 0 && boot->line->is_instance && !boot->line->is_persistent)
                r = instance_remove(tracefs, boot->line->mark.name);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove the rest of the boot trace");
        return 0;
}

static void boot_trace_plan(BootTrace *boot, Plan *plan, const PlanStep *steps, size_t n) {
        plan->uid = 0;
        plan->context = boot;
        plan->urgent = false;
        plan_init(plan, steps, n, NULL);
}

void boot_trace_plan_look(BootTrace *boot, Plan *plan) {
        static const PlanStep steps[] = {
                { "open", boot_trace_step_open, NULL },
                { "describe", step_describe, NULL },
        };

        boot_trace_plan(boot, plan, steps, ELEMENTSOF(steps));
}

void boot_trace_plan_stop(BootTrace *boot, Plan *plan) {
        static const PlanStep step = { "stop", step_stop, NULL };

        boot_trace_plan(boot, plan, &step, 1);
}

void boot_trace_plan_clean(BootTrace *boot, Plan *plan) {
        static const PlanStep step = { "clean", step_clean, NULL };

        boot_trace_plan(boot, plan, &step, 1);
}
