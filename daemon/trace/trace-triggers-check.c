/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks a session's triggers before anything is created: what the kernel or the fence cannot do
 * with them, and how much memory they need. A part of trace-triggers.h, in the event loop. The
 * functions are pure, except that trace_check_trigger_known() looks for files. */

#include "trace/trace-triggers-check.h"

#include <errno.h>
#include <inttypes.h>

#include "interfaces/spec-trigger.h"
#include "trace/trace-fence.h"

/* The kernel evaluates each trigger at each hit of its event. */
#define WINDOW_EVENTS_MAX   32
#define KERNEL_TRIGGERS_MAX 256
#define NOTIFY_BYTES        ((uint64_t)2048 * 320) /* about; rows: hist_count_bytes() */

bool trace_begins_closed(const Spec *spec) {
        for (size_t i = 0; i < spec->n_triggers; i++)
                if (spec->triggers[i].action == ACTION_START)
                        return true;
        return false;
}

uint64_t trace_count_hists_kb(const Spec *spec, const Grant *grant) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < grant->n_triggers; i++)
                if (grant->triggers[i].hist.command)
                        bytes += hist_count_bytes(&grant->triggers[i].hist);
                else if (spec_trigger_is_counter(&spec->triggers[i]))
                        bytes += NOTIFY_BYTES;
        return bytes / 1024;
}

static size_t count_window_events(const Trace *trace) {
        size_t n = 0;

        for (size_t i = 0; i < trace->grant->n_events; i++)
                n += !trace_is_outside_windows(trace, &trace->grant->events[i]);
        return n;
}

static int check_target(const Trace *trace, size_t i, Reason *reason) {
        const SpecTrigger *wanted = &trace->spec->triggers[i];
        const GrantTrigger *granted = &trace->grant->triggers[i];

        if (granted->target == GRANT_NO_TARGET ||
                        !trace_needs_event(trace, &trace->grant->events[granted->target]))
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s.event: %s stays on: the session needs it to know whose the other "
                        "records are",
                        spec_trigger_place(wanted).text,
                        wanted->target);
}

static int check_window(const Trace *trace, size_t i, Reason *reason) {
        const SpecTrigger *wanted = &trace->spec->triggers[i];
        size_t n = count_window_events(trace);

        if (!spec_trigger_is_window(wanted) || !trace->grant->fenced)
                return 0;
        if (n == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.do: %s: the session has no event that it could turn on or "
                                "off",
                                spec_trigger_place(wanted).text,
                                spec_action_to_string(wanted->action));
        if (n <= WINDOW_EVENTS_MAX)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "%s.do: %s: it turns all %zu events of the session on or off; a session "
                        "of your own processes can do this with at most %d: name fewer events",
                        spec_trigger_place(wanted).text,
                        spec_action_to_string(wanted->action),
                        n,
                        WINDOW_EVENTS_MAX);
}

int trace_check_triggers(const Spec *spec, const Grant *grant, Reason *reason) {
        const Trace trace = { .spec = spec, .grant = grant };
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < spec->n_triggers; i++) {
                r = check_target(&trace, i, reason);
                r = r ?: check_window(&trace, i, reason);
                n += grant->fenced && spec_trigger_is_window(&spec->triggers[i])
                                     ? count_window_events(&trace)
                                     : 1;
        }
        if (r == 0 && n > KERNEL_TRIGGERS_MAX)
                r = reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "triggers: they need %zu of the kernel's triggers, the maximum "
                                "is %d: start and stop need one for each event of the session",
                                n,
                                KERNEL_TRIGGERS_MAX);
        return r;
}

int trace_check_trigger_known(const Instance *instance,
                const SpecTrigger *wanted,
                const char *system,
                const char *name,
                Reason *reason) {
        const char *command = spec_trigger_is_counter(wanted)     ? "hist:"
                              : wanted->action == ACTION_SNAPSHOT ? "snapshot"
                                                                  : "";

        if (trigger_is_known(instance, system, name, command))
                return 0;
        const char *why = spec_trigger_is_counter(wanted)
                                          ? "this kernel has no histograms (CONFIG_HIST_TRIGGERS)"
                          : wanted->action == ACTION_SNAPSHOT
                                          ? "this kernel has no snapshot buffers "
                                            "(CONFIG_TRACER_SNAPSHOT): 'ktracectl "
                                            "snapshot' reads the ring instead"
                                          : "the event takes no triggers";

        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "%s.do: %s on %s: %s",
                        spec_trigger_place(wanted).text,
                        spec_action_to_string(wanted->action),
                        wanted->event,
                        why);
}
