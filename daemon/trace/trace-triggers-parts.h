/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec-trigger.h"
#include "trace/trace-fence.h"
#include "trace/trace-locate.h"
#include "trace/trace-pairs.h"
#include "trace/trace-triggers.h"

/* The definitions that the files of a trace's triggers share. No other file includes this header.
 */

static inline bool trigger_is_hist(const SpecTrigger *trigger) {
        return trigger->action == ACTION_HIST || trigger->action == ACTION_NOTIFY;
}

static inline bool trigger_is_window(const SpecTrigger *trigger) {
        return trigger->action == ACTION_START || trigger->action == ACTION_STOP;
}

/* True if the event stays enabled, whatever the windows do. */
static inline bool trace_is_bound(const Trace *trace, const GrantEvent *event) {
        return event->is_unrecorded || trace_needs_event(trace, event);
}

static inline Trigger trace_get_trigger(const TraceTrigger *t) {
        return (Trigger){ .command = t->command,
                .count = t->count,
                .condition = t->condition,
                .listed = t->listed };
}

static inline void trace_locate_trigger(const Trace *trace,
                const TraceTrigger *t,
                const char **ret_system,
                const char **ret_name) {
        trace_locate(trace, &trace->grant->events[t->event], ret_system, ret_name);
}
