/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The fence in the kernel: a part of trace.h. It installs what protects an instance whose records
 * are judged, in steps of the plans of trace.c, and reads all of it back. It runs on the worker
 * thread, except for trace_check_fence.
 *
 * The guard's condition names one uid and one gid, as constants: the uid of the owner, and the gid
 * that all listed processes share (arm.c rejects others). The guard is installed when that gid is
 * known, that is after the first pid. The later credentials check (arm-check.c) finds changes that
 * happened before. The guard stays armed in `stopped` and is never installed again after anything
 * was recorded.
 *
 * Without kprobes there is no guard. Then every listed task must have no_new_privs. A trace of a
 * container has no guard and needs none: its tasks stay in its cgroup, whatever privileges they
 * gain (arm-check.c). */

#include "trace/trace-fence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/defence.h"
#include "interfaces/format.h"
#include "interfaces/spec-trigger.h"
#include "kernel/cred-guard.h"
#include "kernel/pid-max.h"
#include "trace/metadata.h"
#include "trace/trace-counts.h"
#include "trace/trace-kernel.h"
#include "trace/trace-locate.h"
#include "trace/trace-pairs.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace-triggers.h"

/* PID_MAX_LIMIT of 64-bit kernels. With a lower limit, the pid of an ended task is soon used again
 * while the kernel's list still contains it. With this limit an attacker first needs millions of
 * forks. */
#define PID_MAX_NEEDED 4194304
/* The number of events that are watched individually in a trace that is not judged. Each needs an
 * open directory, and the daemon has 65536 descriptors for 256 sessions. */
#define WATCH_EVENTS_MAX 128
/* The number of events that one step of a plan reads back. */
#define VERIFY_EVENTS 32

static const char lifetimes_system[] = "sched";
/* The consumer needs these events to know the members. They are enabled in every judged trace,
 * without any filter. The last one is left out if the grant has it with a filter. Then the consumer
 * loses a thread that calls exec and is not the first thread of its process. */
static const char *const lifetimes[] = { "sched_process_fork",
        "sched_process_exit",
        "sched_process_exec" };

enum { LIFETIMES_NEEDED = 2 };

bool trace_is_judged(const Trace *trace) {
        return trace->grant->fenced && trace->spec->scope != SCOPE_SYSTEM;
}

bool trace_has_name_list(const Trace *trace) {
        return !trace_is_judged(trace) || !defence_is_on("names") || !defence_is_on("metadata");
}

static bool is_exec(const char *system, const char *name) {
        return strcmp(system, lifetimes_system) == 0 &&
               strcmp(name, lifetimes[LIFETIMES_NEEDED]) == 0;
}

static size_t count_lifetimes(const Grant *grant) {
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *event = &grant->events[i];

                if (is_exec(event->system, event->name) && (event->filter || event->policy_filter))
                        return LIFETIMES_NEEDED;
        }
        return ELEMENTSOF(lifetimes);
}

static bool is_lifetime(const Grant *grant, const char *system, const char *name) {
        if (strcmp(system, lifetimes_system) != 0)
                return false;
        for (size_t i = 0; i < count_lifetimes(grant); i++)
                if (strcmp(name, lifetimes[i]) == 0)
                        return true;
        return false;
}

bool trace_needs_event(const Trace *trace, const GrantEvent *event) {
        return trace_is_judged(trace) && is_lifetime(trace->grant, event->system, event->name);
}

bool trace_is_outside_windows(const Trace *trace, const GrantEvent *event) {
        return event->is_unrecorded || trace_needs_event(trace, event);
}

/* Checks if an event must be recorded only because the consumer needs the names of tasks. If the
 * session records the event itself, the consumer uses the session's records. */
static bool needs_names_of(const Trace *trace, const TraceNameSource *source) {
        if (!trace_counts_names(trace) ||
                        (trace_is_judged(trace) &&
                                        is_lifetime(trace->grant, source->system, source->name)))
                return false;
        for (size_t i = 0; i < trace->grant->n_events; i++)
                if (strcmp(trace->grant->events[i].system, source->system) == 0 &&
                                strcmp(trace->grant->events[i].name, source->name) == 0)
                        return false;
        return true;
}

const TraceNameSource *trace_find_name_source(const Trace *trace, size_t *next) {
        while (*next < TRACE_NAME_SOURCES) {
                const TraceNameSource *source = &trace_name_sources[(*next)++];

                if (needs_names_of(trace, source))
                        return source;
        }
        return NULL;
}

static int check_lifetimes(const Grant *grant, Reason *reason) {
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *event = &grant->events[i];

                if (!is_lifetime(grant, event->system, event->name))
                        continue;
                if (event->filter)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "events: %s:%s takes no filter here: all of its records "
                                        "are needed to know whose the others are; filter the "
                                        "recording",
                                        event->system,
                                        event->name);
                if (event->policy_filter)
                        return reason_set(reason,
                                        KT_E_ACCESS_DENIED,
                                        "events: %s:%s cannot be granted with a filter (rule %s)",
                                        event->system,
                                        event->name,
                                        grant->rule);
        }
        return 0;
}

/* A second swap puts the earlier part back. The ring would then continue after a gap that nothing
 * reports, and the gap may contain exits of processes. */
static int check_snapshots(const Spec *spec, Reason *reason) {
        uint64_t n = 0;

        for (size_t i = 0; i < spec->n_triggers; i++) {
                const SpecTrigger *trigger = &spec->triggers[i];

                if (trigger->action == ACTION_SNAPSHOT)
                        n += trigger->count == 0 ? 2 : trigger->count;
        }
        if (n <= 1)
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "triggers: in a session of your own processes one snapshot by a trigger is possible: name one, with count 1");
}

int trace_check_fence(const Spec *spec, const Grant *grant, Reason *reason) {
        clockid_t clock;

        if (!grant->fenced)
                return 0;
        if (spec->scope == SCOPE_SYSTEM)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "scope system: rule %s only grants traces of your own processes",
                                grant->rule);
        if (!metadata_get_clock(spec->clock, &clock))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "clock: %s cannot be compared with the times of your processes: write mono, mono_raw, boot or tai",
                                spec->clock);
        if (spec->cpus)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "cpus: whose the records are is known only where all CPUs are "
                                "recorded: leave it out, or ask for a trace of all processes");
        if (spec->allow_setuid && !grant->allow_setuid)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "allow-setuid: not granted by rule %s, leave it out",
                                grant->rule);
        int r = check_snapshots(spec, reason);
        r = r ?: check_lifetimes(grant, reason);
        return r ?: trace_check_counts(spec, grant, reason);
}

int trace_join_condition(const Trace *trace,
                const GrantEvent *event,
                const char *filter,
                char **ret) {
        bool has_context =
                        trace->grant->fenced && !event->is_of_program && defence_is_on("context");
        const char *parts[3];
        size_t n_parts = 0, at = 0, size = 1;

        *ret = NULL;
        if (filter)
                parts[n_parts++] = filter;
        if (event->policy_filter)
                parts[n_parts++] = event->policy_filter;
        if (has_context)
                parts[n_parts++] = FENCE_CONTEXT;
        if (n_parts == 0)
                return 0;
        for (size_t i = 0; i < n_parts; i++)
                size += strlen(parts[i]) + strlen("() && ");
        char *text = malloc(size);
        if (!text)
                return -ENOMEM;
        for (size_t i = 0; i < n_parts; i++) {
                bool is_bare = n_parts == 1 || (has_context && i == n_parts - 1);

                at += (size_t)snprintf(text + at,
                                size - at,
                                is_bare ? "%s%s" : "%s(%s)",
                                i > 0 ? " && " : "",
                                parts[i]);
        }
        *ret = text;
        return 0;
}

int trace_join_filter(const Trace *trace, const GrantEvent *event, char **ret) {
        _cleanup_free_ char *counted = NULL;

        *ret = NULL;
        if (trace_needs_event(trace, event))
                return 0;
        if (trace_counts_event(trace, event)) {
                int r = trace_join_counted(trace, event, &counted);
                return r ?: trace_join_condition(trace, event, counted, ret);
        }
        if (event->is_unrecorded)
                return 0;
        return trace_join_condition(trace, event, event->filter, ret);
}

/* Steps of create */

int trace_step_guard_probe(void *context, Reason *reason) {
        Trace *trace = context;

        if (!trace_is_judged(trace) || trace->owner->container)
                return 0;
        int r = cred_guard_define(trace->tracefs);
        trace->has_guard = r == 0;
        if (r < 0 && r != -EOPNOTSUPP)
                log_errno(r,
                                LOG_WARNING,
                                &(LogContext){ trace->id, NULL, trace->owner->uid },
                                "no guard on changes of credentials, no_new_privs is required "
                                "instead");
        if (!trace->spec->allow_setuid || trace->has_guard)
                return 0;
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "allow-setuid: this kernel has no probe (kprobes, BTF) that stops the "
                        "trace when the command gains privileges: leave it out");
}

static int trace_fence_read_format(const Trace *trace, const char *name, Format **ret) {
        _cleanup_free_ char *text = NULL;
        Reason reason = {};
        size_t size;

        int r = event_read_format(trace->tracefs, lifetimes_system, name, &text, &size);
        return r ?: format_parse(text, size, ret, &reason);
}

/* Returns the offset of the other task's pid. */
static int find_other(const Format *format, const char *name, uint32_t *ret) {
        const FormatField *field = format_field_find(format, name);

        if (!field || field->kind != FIELD_PLAIN || field->size != sizeof(uint32_t))
                return -EBADMSG;
        *ret = field->offset;
        return 0;
}

/* Finds the command name. If this kernel's layout differs, no name is available. */
static ControlText trace_fence_find_text(const Format *format, const char *name) {
        const FormatField *field = format_field_find(format, name);
        bool is_whole = field && field->kind == FIELD_PLAIN && field->size == TASK_NAME_MAX;

        if (!field || !field->is_string || (!is_whole && field->kind != FIELD_DATA_LOC))
                return (ControlText){};
        return (ControlText){ field->offset, !is_whole };
}

int trace_step_lifetimes_known(void *context, Reason *reason _unused_) {
        _cleanup_(format_free_cleanup) Format *fork = NULL, *exit = NULL, *exec = NULL;
        Trace *trace = context;

        if (!trace_is_judged(trace))
                return 0;
        int r = trace_fence_read_format(trace, "sched_process_fork", &fork);
        r = r ?: trace_fence_read_format(trace, "sched_process_exit", &exit);
        r = r ?: trace_fence_read_format(trace, "sched_process_exec", &exec);
        r = r ?: find_other(fork, "child_pid", &trace->fork_child_offset);
        r = r ?: find_other(exec, "old_pid", &trace->exec_old_offset);
        if (r < 0)
                return r;
        trace->fork_id = fork->id;
        trace->exit_id = exit->id;
        trace->fork_name = trace_fence_find_text(fork, "child_comm");
        trace->exit_name = trace_fence_find_text(exit, "comm");
        trace->exec_file = trace_fence_find_text(exec, "filename");
        trace->exec_id = count_lifetimes(trace->grant) > LIFETIMES_NEEDED ? exec->id : 0;
        return 0;
}

/* Steps of arm */

static int watch_event(Trace *trace, const char *system, const char *name) {
        char path[WATCH_NAME_MAX * 2];

        snprintf(path, sizeof(path), "events/%s", system);
        int r = watch_add(trace->watch, path);
        snprintf(path, sizeof(path), "events/%s/%s", system, name);
        return r ?: watch_add(trace->watch, path);
}

static int watch_systems(Trace *trace) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < trace->grant->n_events; i++) {
                const char *system, *name;
                char path[WATCH_NAME_MAX];

                trace_locate(trace, &trace->grant->events[i], &system, &name);
                snprintf(path, sizeof(path), "events/%s", system);
                r = watch_add(trace->watch, path);
        }
        return r;
}

static int install_watch(Trace *trace) {
        static const char *const directories[] = { ".", "options", "events" };
        bool is_judged = trace_is_judged(trace);
        const TraceNameSource *source;

        int r = watch_new(trace->instance, &trace->watch);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(directories); i++)
                r = watch_add(trace->watch, directories[i]);
        for (size_t i = 0; r == 0 && is_judged && i < count_lifetimes(trace->grant); i++)
                r = watch_event(trace, lifetimes_system, lifetimes[i]);
        for (size_t i = 0; r == 0 && (source = trace_find_name_source(trace, &i));)
                r = watch_event(trace, source->system, source->name);
        if (!is_judged && trace->grant->n_events > WATCH_EVENTS_MAX)
                return r ?: watch_systems(trace);
        for (size_t i = 0; r == 0 && i < trace->grant->n_events; i++) {
                const char *system, *name;

                trace_locate(trace, &trace->grant->events[i], &system, &name);
                r = watch_event(trace, system, name);
        }
        for (size_t i = 0; r == 0 && i < trace->n_pairs * PROBE_ORIGINS_MAX; i++) {
                const ProbeOrigin *origin = &trace->pairs[i / 2].probe->origins[i % 2];

                r = watch_event(trace, origin->system, origin->name);
        }
        if (r == 0 && trace->is_guarded)
                r = watch_event(trace, CRED_GUARD_GROUP, CRED_GUARD_EVENT);
        return r;
}

/* The watch is installed before the first reading: every later write is either seen by the reading
 * or reported by the watch. A judged trace requires a watch; other traces continue without one. */
int trace_step_watch(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        if (trace->watch || !defence_is_on("foreign-change"))
                return 0;
        int r = install_watch(trace);
        if (r == 0 || trace_is_judged(trace))
                return r;
        log_errno(r,
                        LOG_WARNING,
                        &(LogContext){ trace->id, trace->instance->name, trace->owner->uid },
                        "changes by other programs are noticed late");
        trace->watch = watch_free(trace->watch);
        return 0;
}

static int refuse_change(Reason *reason, const char *file) {
        return reason_set(reason,
                        KT_E_FAILED,
                        "another program changed the instance (%s): the session has ended, make "
                        "a new one",
                        file);
}

/* Returns KT_E_FAILED if the latch or the guard has fired. *ret_fired is true if it was the guard.
 */
static int check_latch(const Trace *trace, bool *ret_fired, Reason *reason) {
        bool is_on = true, has_fired = false;

        int r = instance_get_tracing(trace->instance, &is_on);
        if (r == 0 && trace->is_guarded)
                r = cred_guard_has_fired(trace->instance, &has_fired);
        if (r < 0)
                return r;
        *ret_fired = has_fired;
        if (has_fired)
                return reason_set(reason,
                                KT_E_FAILED,
                                "a traced process changed its credentials: tracing stopped before anything it did with them");
        if (trace_tracer_needs_tracing_on(trace))
                return 0;
        return is_on || !defence_is_on("latch") ? 0 : refuse_change(reason, "tracing_on");
}

/* Checks that everything that was installed is still there. */
static int check_installed(const Trace *trace, Reason *reason) {
        bool has_sentinel = true, stands = true;
        uint64_t follows = 1;
        _cleanup_free_ const char **twins = NULL;
        size_t n_twins = 0;

        int r = trace_list_twins(trace, &twins, &n_twins);
        if (r == 0 && trace->has_list && defence_is_on("sentinel"))
                r = instance_has_pid(trace->instance, ARM_SENTINEL, &has_sentinel);
        if (r == 0 && trace->has_list)
                r = tracefs_read_u64(trace->instance->fd, "options/event-fork", &follows);
        if (r == 0 && trace->is_guarded)
                r = cred_guard_stands(trace->instance,
                                trace->owner->uid,
                                trace->guard_gid,
                                &(CredGuardTwins){ twins, n_twins },
                                &stands);
        if (r < 0)
                return r;
        return !has_sentinel  ? refuse_change(reason, "set_event_pid")
               : follows != 1 ? refuse_change(reason, "options/event-fork")
               : !stands      ? refuse_change(reason, CRED_GUARD_PATH "/trigger")
                              : 0;
}

int trace_step_latch(void *context, Reason *reason) {
        Trace *trace = context;
        bool has_fired;

        /* In a borrowed instance tracing_on belongs to its maker. */
        int r = trace->borrow ? 0 : check_latch(trace, &has_fired, reason);
        r = r ?: check_installed(trace, reason);
        if (r != 0)
                return r;
        trace->next = 0;
        return 0;
}

int trace_step_pid_max(void *context, Reason *reason) {
        const Trace *trace = context;
        uint64_t max;

        if (!trace_is_judged(trace) || !defence_is_on("lifetimes"))
                return 0;
        int r = pid_max_read(&max);
        if (r < 0 || max >= PID_MAX_NEEDED)
                return r;
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "kernel.pid_max is %" PRIu64
                        ": numbers of processes that have ended come again too soon to keep others out of the trace; the administrator has to set it: sysctl kernel.pid_max=%d",
                        max,
                        PID_MAX_NEEDED);
}

int trace_step_guard(void *context, Reason *reason) {
        Trace *trace = context;
        uid_t uid = trace->owner->uid;
        int r = 0;

        if (!trace_is_judged(trace) || !trace->has_guard)
                return 0;
        gid_t gid = trace->arm.rule.has_gid ? trace->arm.rule.gid : trace->owner->gids[0];
        /* The group of a unit's processes may be different at a later start. */
        if (trace->is_guarded && trace->guard_gid != gid) {
                r = trace_lift_twins(trace);
                r = r ?: cred_guard_lift(trace->instance, uid, trace->guard_gid);
                if (r < 0)
                        return r;
                trace->is_guarded = false;
        }
        if (!trace->is_guarded) {
                /* The end of another session may have removed the probe since it was checked. From
                 * here on the trigger keeps it, so its files are watched from here on. */
                r = cred_guard_define(trace->tracefs);
                if (r == 0 && trace->watch)
                        r = watch_event(trace, CRED_GUARD_GROUP, CRED_GUARD_EVENT);
                if (r < 0)
                        return r;
                r = cred_guard_install(trace->instance, uid, gid);
                trace->is_guarded = r == 0;
                trace->guard_gid = gid;
                if (r < 0) /* may be half installed */
                        (void)cred_guard_lift(trace->instance, uid, gid);
        }
        return r ?: check_installed(trace, reason);
}

int trace_step_lifetimes(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        const TraceNameSource *source;
        int r = 0;

        size_t n = trace_is_judged(trace) ? count_lifetimes(trace->grant) : 0;

        /* Also if the first one fails. */
        trace->is_live = trace->is_live || n > 0 || trace_counts_names(trace);
        trace->arm.since_nsec = 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = instance_enable_event(trace->instance, lifetimes_system, lifetimes[i], true);
        for (size_t i = 0; r == 0 && (source = trace_find_name_source(trace, &i));)
                r = instance_enable_event(trace->instance, source->system, source->name, true);
        return r;
}

int trace_disable_others(const Trace *trace) {
        const Grant *grant = trace->grant;
        const char *system, *name, *done = "";
        int r = 0;

        if (!trace_is_judged(trace) || !defence_is_on("lifetimes-last"))
                return 0;
        for (size_t i = 0; r == 0 && i < grant->n_events; i++) {
                trace_locate(trace, &grant->events[i], &system, &name);
                if (is_lifetime(grant, system, name) || strcmp(system, done) == 0)
                        continue;
                if (strcmp(system, lifetimes_system) == 0)
                        r = instance_enable_event(trace->instance, system, name, false);
                else {
                        r = instance_enable_system(trace->instance, system, false);
                        done = system;
                }
                r = r == -ENOENT ? 0 : r; /* its module was unloaded */
        }
        return r;
}

int trace_open_guard(Trace *trace) {
        static const char *const files[] = { "tracing_on", CRED_GUARD_PATH "/hist" };
        size_t n = trace->is_guarded && defence_is_on("guard-hist") ? 2 : 1;

        for (size_t i = 0; trace_is_judged(trace) && i < n; i++) {
                trace->guard_fds[i] = instance_open_file(trace->instance, files[i], O_RDONLY);
                if (trace->guard_fds[i] < 0)
                        return trace->guard_fds[i];
        }
        return 0;
}

/* Reading back */

/* True if a probe of ours is attached to this event. */
static bool is_source(const Grant *grant, const char *system, const char *name) {
        for (size_t i = 0; i < grant->n_sources; i++)
                if (strcmp(grant->sources[i].system, system) == 0 &&
                                strcmp(grant->sources[i].name, name) == 0)
                        return true;
        return false;
}

/* The file contains "0\n" or "1\n", with a star if the event has a trigger or an attached probe. */
static int verify_enable(const Trace *trace,
                const char *directory,
                const GrantEvent *event,
                bool has_probe,
                bool has_window,
                Reason *reason) {
        bool is_on = trace->is_live &&
                     !(event && trace->is_off && trace->is_off[event - trace->grant->events]);
        bool any = trace->is_live && has_window;
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/enable", directory);
        int r = tracefs_read(trace->instance->fd, path, &text, NULL);
        if (r < 0)
                return r;
        if (has_probe && text[0] && text[1] == '*')
                memmove(text + 1, text + 2, strlen(text + 2) + 1);
        return (any && strcmp(text, is_on ? "0\n" : "1\n") == 0) ||
                                               strcmp(text, is_on ? "1\n" : "0\n") == 0
                               ? 0
                               : refuse_change(reason, path);
}

static int verify_filter(const Trace *trace,
                const char *directory,
                const GrantEvent *event,
                Reason *reason) {
        _cleanup_free_ char *text = NULL, *filter = NULL;
        char path[PATH_MAX];
        int r = 0;

        if (event)
                r = trace_join_filter(trace, event, &filter);
        snprintf(path, sizeof(path), "%s/filter", directory);
        r = r ?: tracefs_read(trace->instance->fd, path, &text, NULL);
        if (r < 0)
                return r;
        text[strcspn(text, "\n")] = '\0';
        return strcmp(text, filter ?: "none") == 0 ? 0 : refuse_change(reason, path);
}

static int verify_trigger(const Trace *trace,
                const char *system,
                const char *name,
                Reason *reason) {
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "events/%s/%s/trigger", system, name);
        int r = tracefs_read(trace->instance->fd, path, &text, NULL);
        if (r < 0)
                return r;
        return trace_triggers_stand(trace, system, name, text) ? 0 : refuse_change(reason, path);
}

/* event: NULL for an event that only the fence has enabled. */
static int verify_event(const Trace *trace,
                const char *system,
                const char *name,
                const GrantEvent *event,
                Reason *reason) {
        char directory[NAME_MAX * 2 + 16];

        snprintf(directory, sizeof(directory), "events/%s/%s", system, name);
        int r = verify_enable(trace,
                        directory,
                        event,
                        is_source(trace->grant, system, name) ||
                                        trace_has_trigger(trace, system, name) ||
                                        trace_event_has_triggers(trace, system, name),
                        trace_event_has_window(trace, system, name),
                        reason);
        r = r ?: verify_filter(trace, directory, event, reason);
        return r ?: verify_trigger(trace, system, name, reason);
}

int trace_verify_latch(const Trace *trace, bool *ret_fired, Reason *reason) {
        return check_latch(trace, ret_fired, reason);
}

int trace_verify(const Trace *trace, size_t *next, Reason *reason) {
        const Grant *grant = trace->grant;
        const TraceNameSource *source;
        size_t end = MIN_OF(*next + VERIFY_EVENTS, grant->n_events);
        int r = 0;

        if (*next == 0)
                r = check_installed(trace, reason);
        for (size_t i = 0; r == 0 && *next == 0 && i < count_lifetimes(grant); i++)
                r = verify_event(trace, lifetimes_system, lifetimes[i], NULL, reason);
        for (size_t i = 0; r == 0 && *next == 0 && (source = trace_find_name_source(trace, &i));)
                r = verify_event(trace, source->system, source->name, NULL, reason);
        for (size_t i = 0; r == 0 && *next == 0 && i < trace->n_pairs * PROBE_ORIGINS_MAX; i++)
                r = verify_trigger(trace,
                                trace->pairs[i / 2].probe->origins[i % 2].system,
                                trace->pairs[i / 2].probe->origins[i % 2].name,
                                reason);
        for (; r == 0 && *next < end; (*next)++) {
                const char *system, *name;

                trace_locate(trace, &grant->events[*next], &system, &name);
                r = verify_event(trace, system, name, &grant->events[*next], reason);
        }
        return r ?: *next < grant->n_events ? PLAN_AGAIN : 0;
}
