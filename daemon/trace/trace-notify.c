/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens the files that show how often a trace's notify triggers were hit. Each is a histogram of
 * its event over common_pid, and hit-counter.c lets a confined process read it. A part of trace.h.
 * The event loop builds the plan; the worker thread runs it, because opening the files takes the
 * kernel's event_mutex. This file parses the list of an event's triggers, which contains no
 * recorded data, and never a histogram. */

#include "trace/trace-notify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "interfaces/spec-trigger.h"
#include "kernel/trigger-line.h"
#include "kernel/trigger.h"
#include "trace/trace-fence.h"
#include "trace/trace-locate.h"
#include "trace/trace-pairs.h"

#define PATH_SIZE 512

static bool is_notify(const Trace *trace, const TraceTrigger *t) {
        return t->is_laid && trace->spec->triggers[t->origin].action == ACTION_NOTIFY;
}

bool trace_notify_is_wanted(const Spec *spec) {
        for (size_t i = 0; i < spec->n_triggers; i++)
                if (spec->triggers[i].action == ACTION_NOTIFY)
                        return true;
        return false;
}

/* Copies the trigger's line without the state in brackets, and counts the histograms in the file.
 */
static int trace_notify_make_line(const char *text,
                const Trigger *trigger,
                int *ret_fd,
                uint32_t *ret_n) {
        *ret_n = 0;
        for (const char *at = text; *at; at += *at == '\n') {
                size_t size = strcspn(at, "\n");
                _cleanup_free_ char *line = strndup(at, size);

                if (!line)
                        return -ENOMEM;
                at += size;
                *ret_n += strncmp(line, "hist:", strlen("hist:")) == 0;
                if (*ret_fd >= 0 || !trigger_find(line, trigger).stands)
                        continue;
                char *state = strrchr(line, '[');
                if (!state || state == line)
                        return -EBADMSG;
                *ret_fd = fd_memfd_sealed("ktrace-trigger", line, (size_t)(state - line - 1));
                if (*ret_fd < 0)
                        return *ret_fd;
        }
        return *ret_fd >= 0 ? 0 : -ENODATA;
}

static int open_table(TraceNotify *notify, const TraceTrigger *t) {
        const Trace *trace = notify->trace;
        const Trigger trigger = {
                .command = t->command, .condition = t->condition, .listed = t->listed
        };
        _cleanup_free_ char *text = NULL;
        const char *system, *name;
        char path[PATH_SIZE];

        if (notify->n == CONTROL_TABLES_MAX)
                return -E2BIG;
        trace_locate(trace, &trace->grant->events[t->event], &system, &name);
        int r = trigger_read(trace->instance, system, name, &text);
        if (r < 0)
                return r;
        (void)snprintf(path, sizeof(path), "events/%s/%s/hist", system, name);
        size_t i = notify->n++;
        notify->tables[i].trigger = t->origin;
        notify->tables[i].fds[0] = instance_open_file(trace->instance, path, O_RDONLY);
        if (notify->tables[i].fds[0] < 0)
                return notify->tables[i].fds[0];
        return trace_notify_make_line(
                        text, &trigger, &notify->tables[i].fds[1], &notify->tables[i].n_in_file);
}

static int trace_notify_step_open(void *context, Reason *reason _unused_) {
        TraceNotify *notify = context;
        const Trace *trace = notify->trace;

        if (!trace->instance)
                return -ENODEV;
        for (size_t i = 0; i < trace->n_triggers; i++) {
                int r = is_notify(trace, &trace->triggers[i])
                                        ? open_table(notify, &trace->triggers[i])
                                        : 0;
                if (r < 0)
                        return r;
        }
        if (trace_is_judged(trace))
                notify->tracing_fd = instance_open_file(trace->instance, "tracing_on", O_RDONLY);
        return trace_is_judged(trace) ? MIN_OF(notify->tracing_fd, 0) : 0;
}

static void trace_notify_undo_open(void *context) {
        trace_notify_clear(context);
}

void trace_plan_notify(TraceNotify *notify, Plan *plan) {
        static const PlanStep step = { "notify", trace_notify_step_open, trace_notify_undo_open };

        trace_notify_clear(notify);
        plan_init(plan, &step, 1, NULL);
        plan->uid = notify->trace->owner->uid;
        plan->context = notify;
}

void trace_notify_init(TraceNotify *notify, const Trace *trace) {
        *notify = (TraceNotify){ .trace = trace, .tracing_fd = -1 };
        for (size_t i = 0; i < CONTROL_TABLES_MAX; i++)
                notify->tables[i].fds[0] = notify->tables[i].fds[1] = -1;
}

void trace_notify_close_tables(TraceNotify *notify) {
        for (size_t i = 0; i < notify->n; i++) {
                close_cleanup(&notify->tables[i].fds[0]);
                close_cleanup(&notify->tables[i].fds[1]);
        }
}

void trace_notify_clear(TraceNotify *notify) {
        trace_notify_close_tables(notify);
        notify->n = 0;
        close_cleanup(&notify->tracing_fd);
}
