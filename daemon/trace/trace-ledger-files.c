/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of a whole instance that others may have changed: the clock, the tracer, the size, options,
 * the CPUs, the pid list, and tracing_on. A part of trace-ledger.h; trace-ledger.c describes which
 * changes are put back and which end the session.
 *
 * Relies on: changing the clock or the tracer clears the ring. So putting it back drops only the
 * records since the change. */

#include "trace/trace-ledger-files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "kernel/tracer.h"
#include "trace/trace-borrow.h"
#include "trace/trace-change.h"
#include "trace/trace-fence.h"
#include "trace/trace-kernel.h"
#include "trace/trace-ledger.h"

typedef struct File {
        const char *path;
        /* Returns the expected text, or -ENOENT if the file is not checked for this trace. */
        int (*expect)(const Trace *trace, char *text, size_t size);
        /* Reduces the file's text to the part to compare; NULL compares the whole text. */
        void (*cut)(char *text);
        int (*put_back)(Trace *trace, Reason *reason);
} File;

/* "local global [mono]" */
static void cut_clock(char *text) {
        char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

        if (!end)
                return;
        *end = '\0';
        memmove(text, begin + 1, strlen(begin));
}

static int expect_tracing(const Trace *trace, char *text, size_t size) {
        for (size_t i = 0; i < trace->spec->n_triggers; i++)
                if (trace->spec->triggers[i].action == ACTION_START ||
                                trace->spec->triggers[i].action == ACTION_STOP)
                        return -ENOENT;
        if ((trace->borrow || trace_tracer_needs_tracing_on(trace)) && !trace->is_live)
                return -ENOENT;
        snprintf(text, size, "1");
        return 0;
}

static int put_back_tracing(Trace *trace, Reason *reason _unused_) {
        return instance_set_tracing(trace->instance, true);
}

static int expect_clock(const Trace *trace, char *text, size_t size) {
        snprintf(text, size, "%s", trace_get_clock(trace));
        return 0;
}

static int put_back_clock(Trace *trace, Reason *reason) {
        return instance_set_clock(trace->instance, trace->spec->clock, reason);
}

static int expect_size(const Trace *trace, char *text, size_t size) {
        if (trace->borrow || trace->size_kb == 0)
                return -ENOENT;
        snprintf(text, size, "%" PRIu64, trace->size_kb);
        return 0;
}

static int put_back_size(Trace *trace, Reason *reason _unused_) {
        return trace_set_size(trace,
                        trace_is_shared(trace) ? trace->shared->buffer_kb : trace->spec->buffer_kb);
}

static int expect_overwrite(const Trace *trace, char *text, size_t size) {
        if (trace->borrow)
                return -ENOENT;
        snprintf(text, size, "%d", trace->spec->mode == MODE_FLIGHT);
        return 0;
}

static int put_back_overwrite(Trace *trace, Reason *reason _unused_) {
        return instance_set_option(trace->instance, "overwrite", trace->spec->mode == MODE_FLIGHT);
}

static int expect_fork(const Trace *trace, char *text, size_t size) {
        if (trace->borrow || !trace->has_list)
                return -ENOENT;
        snprintf(text, size, "1");
        return 0;
}

static int put_back_fork(Trace *trace, Reason *reason _unused_) {
        return instance_set_option(trace->instance, "event-fork", true);
}

static int expect_tracer(const Trace *trace, char *text, size_t size) {
        if (trace->borrow)
                return -ENOENT;
        snprintf(text, size, "%s", trace->spec->tracer ?: "nop");
        return 0;
}

static int put_back_tracer(Trace *trace, Reason *reason) {
        if (trace->spec->tracer)
                return trace_ledger_end_session(
                                reason, "current_tracer", "the buffer was emptied by that");
        return tracefs_write(trace->instance->fd, "current_tracer", "nop");
}

static const File files[] = {
        { "trace_clock", expect_clock, cut_clock, put_back_clock },
        { "current_tracer", expect_tracer, NULL, put_back_tracer },
        { "buffer_size_kb", expect_size, NULL, put_back_size },
        { "options/overwrite", expect_overwrite, NULL, put_back_overwrite },
        { "options/event-fork", expect_fork, NULL, put_back_fork },
        { "tracing_on", expect_tracing, NULL, put_back_tracing },
};

static int look_at_file(Trace *trace, TraceLedger *ledger, size_t i, Reason *reason) {
        const File *file = &files[i];
        _cleanup_free_ char *text = NULL;
        uint32_t bit = UINT32_C(1) << i;
        char wanted[64];

        int r = file->expect(trace, wanted, sizeof(wanted));
        r = r ?: tracefs_read(trace->instance->fd, file->path, &text, NULL);
        if (r == -ENOENT || r == -EACCES) /* not in this kernel */
                return 0;
        if (r < 0)
                return r;
        text[strcspn(text, "\n")] = '\0';
        if (file->cut)
                file->cut(text);
        if (strcmp(text, wanted) == 0) {
                ledger->given_up &= ~bit;
                return 0;
        }
        if (ledger->given_up & bit)
                return 0;
        Reason why = {};
        bool may = !trace->borrow;
        r = may ? file->put_back(trace, &why) : 0;
        if (r == KT_E_FAILED) {
                *reason = why;
                return r;
        }
        trace_ledger_add(ledger, file->path, wanted, text, may && r == 0);
        if (!may || r != 0)
                ledger->given_up |= bit;
        return 0;
}

static int look_at_list(const Trace *trace, Reason *reason) {
        bool has_sentinel = true;
        int r = trace->has_list ? instance_has_pid(trace->instance, ARM_SENTINEL, &has_sentinel)
                                : 0;

        if (r < 0 || has_sentinel)
                return r;
        return trace_ledger_end_session(reason,
                        "set_event_pid",
                        "who was on the list is lost, and every process would be traced");
}

static int look_at_cpus(Trace *trace, TraceLedger *ledger, Reason *reason) {
        CpuList now, wanted = {};

        if (trace->borrow)
                return 0;
        int r = instance_get_cpus(trace->instance, &now);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (unsigned cpu = 0; cpu < trace->n_cpus; cpu++)
                wanted.words[cpu / 64] |= UINT64_C(1) << cpu % 64;
        if (trace->spec->cpus)
                r = cpu_list_parse("cpus", trace->spec->cpus, &wanted, reason);
        if (r != 0 || memcmp(&now, &wanted, sizeof(now)) == 0)
                return r;
        r = instance_set_cpus(trace->instance, &wanted, trace->n_cpus, reason);
        if (r == 0)
                trace_ledger_add(ledger,
                                "tracing_cpumask",
                                trace->spec->cpus ?: "all CPUs",
                                "others",
                                true);
        return r;
}

int trace_ledger_look_at_files(Trace *trace, TraceLedger *ledger, Reason *reason) {
        int r = 0;

        if (ledger->was_emptied)
                trace_ledger_add(ledger, "trace", "what was recorded", "emptied", false);
        ledger->was_emptied = false;
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(files); i++)
                r = look_at_file(trace, ledger, i, reason);
        if (r == 0)
                r = look_at_cpus(trace, ledger, reason);
        return r ?: look_at_list(trace, reason);
}
