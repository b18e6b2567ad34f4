/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Operations on an installed histogram of a trigger: opening its file for the process that reads
 * it, clearing, pausing and continuing it. The event loop builds the plans; the worker thread runs
 * them, because each operation takes the kernel's event_mutex.
 *
 * The file can contain several tables. The kernel's own list of triggers, the file `trigger`, shows
 * which table it is; that list contains no recorded data. In a fenced session the guard pauses a
 * histogram when it fires. Counts after that moment would belong to another user. So the reader
 * checks after reading if the guard has fired. */

#include "trace/trace-hist.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "kernel/trigger-line.h"
#include "trace/trace-fence.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace-triggers.h"

#define PATH_SIZE 512

static uint32_t count_hists(const char *text) {
        uint32_t n = 0;

        for (const char *line = text; *line; line += *line == '\n') {
                n += strncmp(line, "hist:", strlen("hist:")) == 0;
                line += strcspn(line, "\n");
        }
        return n;
}

static int trace_hist_open_file(const TraceHist *hist, const char *system, const char *name) {
        char path[PATH_SIZE];

        (void)snprintf(path, sizeof(path), "events/%s/%s/hist", system, name);
        return instance_open_file(hist->trace->instance, path, O_RDONLY);
}

static int trace_hist_step_open(void *context, Reason *reason) {
        TraceHist *hist = context;
        _cleanup_free_ char *text = NULL;
        const char *system, *name;
        Trigger trigger;

        int r = trace_find_hist(hist->trace, hist->trigger, &trigger, &system, &name, reason);
        r = r ?: trigger_read(hist->trace->instance, system, name, &text);
        if (r != 0)
                return r;
        TriggerState state = trigger_find(text, &trigger);
        if (!state.stands)
                return -ENOENT; /* removed by others; the instance check reports it */
        hist->n_in_file = count_hists(text);
        hist->fds[1] = fd_memfd_sealed("ktrace-trigger", state.line, state.line_size);
        if (hist->fds[1] < 0)
                return hist->fds[1];
        hist->fds[0] = trace_hist_open_file(hist, system, name);
        return MIN_OF(hist->fds[0], 0);
}

static void trace_hist_undo_open(void *context) {
        TraceHist *hist = context;

        close_cleanup(&hist->fds[0]);
        close_cleanup(&hist->fds[1]);
}

static int step_judge(void *context, Reason *reason) {
        TraceHist *hist = context;

        if (!hist->trace->instance)
                return -ENODEV;
        return trace_is_judged(hist->trace)
                               ? trace_verify_latch(hist->trace, &hist->has_fired, reason)
                               : 0;
}

static int step_verb(void *context, Reason *reason) {
        const TraceHist *hist = context;
        const Instance *instance = hist->trace->instance;
        const char *system, *name;
        Trigger trigger;
        bool has_fired;

        /* If the guard has paused the histogram, it stays paused. */
        int r = trace_is_judged(hist->trace) ? trace_verify_latch(hist->trace, &has_fired, reason)
                                             : 0;
        r = r ?: trace_find_hist(hist->trace, hist->trigger, &trigger, &system, &name, reason);
        if (r != 0)
                return r;
        if (hist->verb == HIST_CLEAR)
                return trigger_clear(instance, system, name, &trigger);
        return trigger_pause(instance, system, name, &trigger, hist->verb == HIST_PAUSE);
}

static void plan_one(TraceHist *hist, Plan *plan, const PlanStep *step, OwnWrites *writes) {
        plan_init(plan, step, 1, writes);
        plan->uid = hist->trace->owner->uid;
        plan->urgent = false;
        plan->context = hist;
}

void trace_plan_hist_open(TraceHist *hist, Plan *plan) {
        static const PlanStep step = {
                "open the histogram", trace_hist_step_open, trace_hist_undo_open
        };

        plan_one(hist, plan, &step, NULL);
}

void trace_plan_hist_judge(TraceHist *hist, Plan *plan) {
        static const PlanStep step = { "ask the guard", step_judge, NULL };

        plan_one(hist, plan, &step, NULL);
}

void trace_plan_hist_verb(TraceHist *hist, Plan *plan) {
        static const PlanStep step = { "change the histogram", step_verb, NULL };

        plan_one(hist, plan, &step, hist->trace->own_writes);
}
