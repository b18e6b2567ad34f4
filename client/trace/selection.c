/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Chooses a part of a recording: times, events, threads, CPUs. The verbs parse their options with
 * it, and the exporters apply it to a trace before they read the first record. It owns nothing. The
 * trace gets a RecordFilter, and reads only from the sub-buffer in which the first time lies. */

#include "trace/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/quote.h"
#include "trace/inner-search.h"
#include "trace/trace-span.h"

#define NSEC_PER_SEC UINT64_C(1000000000)

int selection_add_pids(Selection *selection, const char *option, const char *text, Reason *reason) {
        const char *p = text;

        for (;;) {
                char *end;
                unsigned long pid = *p >= '0' && *p <= '9' ? strtoul(p, &end, 10) : ULONG_MAX;

                if (pid > INT32_MAX || (*end && *end != ','))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s %s, position %td: expected thread IDs such as 1204 or "
                                        "1204,1210",
                                        option,
                                        quote(text).text,
                                        p - text + 1);
                if (selection->n_pids == SELECTION_PIDS_MAX)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: expected at most %d thread IDs",
                                        option,
                                        SELECTION_PIDS_MAX);
                selection->pids[selection->n_pids++] = (int)pid;
                if (*end == '\0')
                        return 0;
                p = end + 1;
        }
}

int selection_add_event(Selection *selection,
                const char *option,
                const char *pattern,
                Reason *reason) {
        if (selection->n_events == SELECTION_EVENTS_MAX || pattern[0] == '\0')
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s %s: expected at most %d events, such as sched_switch or 'sched:*'",
                                option,
                                quote(pattern).text,
                                SELECTION_EVENTS_MAX);
        selection->events[selection->n_events++] = pattern;
        return 0;
}

static bool selection_matches(const char *pattern, const struct tep_event *event) {
        char name[512];

        if (!strchr(pattern, ':'))
                return fnmatch(pattern, event->name, 0) == 0;
        (void)snprintf(name, sizeof(name), "%s:%s", event->system, event->name);
        return fnmatch(pattern, name, 0) == 0;
}

/* A stack is a record after the event to which it belongs. */
static bool selection_is_stack(const struct tep_event *event) {
        return strcmp(event->system, "ftrace") == 0 &&
               (strcmp(event->name, "kernel_stack") == 0 || strcmp(event->name, "user_stack") == 0);
}

static int selection_choose_events(const Selection *selection,
                const Decode *decode,
                RecordFilter *filter,
                Reason *reason) {
        filter->events = calloc(decode->n_layouts + 1, sizeof(*filter->events));
        if (!filter->events)
                return -ENOMEM;
        filter->n_events = decode->n_layouts;
        for (size_t id = 0; id < decode->n_layouts; id++)
                if (decode->layouts[id] && selection_is_stack(decode->layouts[id]->event))
                        filter->events[id] = RECORD_FOLLOWS;
        for (size_t i = 0; i < selection->n_events; i++) {
                bool is_known = false;

                for (size_t id = 0; id < decode->n_layouts; id++)
                        if (decode->layouts[id] && selection_matches(selection->events[i],
                                                                   decode->layouts[id]->event)) {
                                filter->events[id] = RECORD_CHOSEN;
                                is_known = true;
                        }
                if (!is_known)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "--event %s: the recording has no such event",
                                        quote(selection->events[i]).text);
        }
        return 0;
}

/* Sets the times of the filter, and refuses those that select nothing. */
static int selection_choose_times(const Selection *selection,
                Trace *trace,
                RecordFilter *filter,
                Reason *reason) {
        const Decode *decode = trace->decode;
        uint64_t first = 0, last = 0;

        if (!decode->is_ns)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "the recording's clock (%s) does not count time, so no times can be "
                                "chosen: choose with --event, --pid or --cpu",
                                decode->clock[0] ? decode->clock : "unknown");
        int r = trace_span_get(trace, &first, &last);
        if (r <= 0)
                return r; /* without records there is nothing to choose */
        r = selection_time_resolve(&selection->from, decode, first, &filter->from, reason);
        r = r ?: selection_time_resolve(&selection->until, decode, first, &filter->until, reason);
        if (r != 0)
                return r;
        if (selection->last_ns > 0)
                filter->from = last - MIN_OF(last, selection->last_ns);
        if (!selection->may_be_empty && (filter->from > last || filter->until <= first))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "no event lies between --from and --until: the recording is %" PRIu64
                                ".%06" PRIu64 " s long",
                                (last - first) / NSEC_PER_SEC,
                                (last - first) % NSEC_PER_SEC / 1000);
        if (filter->from >= filter->until)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--from is not before --until: expected an earlier time");
        return trace_span_seek(trace, filter->from);
}

static bool selection_has_times(const Selection *selection) {
        return selection->from.kind || selection->until.kind || selection->last_ns > 0;
}

bool selection_is_cut(const Selection *selection) {
        return selection_has_times(selection) || selection->n_events > 0 || selection->n_pids > 0;
}

int selection_apply(const Selection *selection, Trace *trace, Reason *reason) {
        RecordFilter filter = { .until = UINT64_MAX };
        int r = 0;

        if (selection_has_times(selection))
                r = selection_choose_times(selection, trace, &filter, reason);
        if (r == 0 && selection->n_events > 0)
                r = selection_choose_events(selection, trace->decode, &filter, reason);
        if (r == 0 && selection->cpus)
                r = decode_check_cpus(trace->decode, selection->cpus, reason);
        if (r == 0 && selection->cpus) {
                trace_keep_cpus(trace, selection->cpus);
                inner_search_forget(trace);
        }
        if (r == 0 && selection->n_pids > 0) {
                filter.pids = selection->pids;
                filter.n_pids = selection->n_pids;
        }
        if (r == 0 && selection_is_cut(selection))
                trace_set_filter(trace, &filter);
        record_filter_clear(&filter);
        return r;
}
