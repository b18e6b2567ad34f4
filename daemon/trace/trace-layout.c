/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The layouts of the records that a trace's metadata describes. An event of a module or a dynamic
 * event can be removed and registered again: with another layout, or with another id, or its id can
 * become that of another event (kernel/trace/trace_output.c, register_trace_event). Cuts and
 * filters would then be applied to the wrong bytes. So the layout is compared before each time that
 * an event is enabled. The kernel disables an event when it is removed. Runs on the worker thread;
 * feed/share.c compares traces in the event loop.
 *
 * After a restart of ktraced the metadata is made again. Then the layouts must be those of before:
 * a stream worker, or the reader of a shared instance, still has the earlier metadata.
 *
 * The print format is not compared: it does not affect the records, and the kernel changes it when
 * a module with enums is loaded. */

#include "trace/trace-layout.h"

#include <errno.h>
#include <string.h>

#include "interfaces/defence.h"
#include "trace/trace-locate.h"
#include "trace/trace.h"

/* Computes the layout of an event from its format file. */
static int trace_layout_read(const char *text, uint32_t id, TraceLayout *ret) {
        const char *end = strstr(text, "\nprint fmt:");
        size_t size = end ? (size_t)(end - text) : strlen(text);

        ret->id = id;
        return digest_make(text, size, ret->digest);
}

int trace_learn_layout(const Trace *trace, const GrantEvent *event, const char *text, uint64_t id) {
        const Grant *grant = trace->grant;

        if (!trace->layouts || event < grant->events || event >= grant->events + grant->n_events)
                return 0;
        return trace_layout_read(text, (uint32_t)id, &trace->layouts[event - grant->events]);
}

int trace_note_layouts(Trace *trace, Reason *reason) {
        size_t size = trace->grant->n_events * sizeof(*trace->layouts);
        char digest[DIGEST_DIGITS + 1];

        int r = digest_make(trace->layouts, size, digest);
        if (r < 0)
                return r;
        /* Otherwise no process has the metadata of the last daemon. */
        bool matters = trace->is_armed || trace_is_shared(trace);
        if (matters && trace->layouts_digest[0] && strcmp(trace->layouts_digest, digest) != 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "an event of the session was registered again while ktraced was "
                                "not running");
        memcpy(trace->layouts_digest, digest, sizeof(digest));
        return 0;
}

int trace_refuse_event(const GrantEvent *event, const char *how, Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_EVENT,
                        "events: %s:%s has been %s since the session was made",
                        event->system,
                        event->name,
                        how);
}

int trace_check_layout(const Trace *trace, size_t i, Reason *reason) {
        const TraceLayout *known = trace->layouts ? &trace->layouts[i] : NULL;
        const GrantEvent *event = &trace->grant->events[i];
        _cleanup_free_ char *text = NULL;
        const char *system, *name;
        TraceLayout now = {};
        size_t size;

        if (!known || !known->digest[0] || !defence_is_on("event-layout"))
                return 0;
        trace_locate(trace, event, &system, &name);
        int r = event_read_format(trace->tracefs, system, name, &text, &size);
        if (r == -ENOENT)
                return trace_refuse_event(event, "removed", reason);
        r = r ?: trace_layout_read(text, known->id, &now);
        if (r < 0)
                return r;
        return strcmp(now.digest, known->digest) == 0
                               ? 0
                               : trace_refuse_event(event,
                                                 "registered again with another layout or id",
                                                 reason);
}

bool trace_layouts_are_same(const Trace *a, const Trace *b) {
        return a->layouts && b->layouts &&
               memcmp(a->layouts, b->layouts, a->grant->n_events * sizeof(*a->layouts)) == 0;
}
