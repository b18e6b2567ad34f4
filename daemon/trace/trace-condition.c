/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Describes filters for the processes that evaluate them in place of the kernel: the stream worker
 * for its histograms (trace-counts.c), and the reader of a shared instance for each of its viewers.
 * Users must not see the filters that a rule adds. So they are not in the metadata of the
 * stream. */

#include "trace/trace-condition.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "base/fd.h"
#include "policy/filter.h"
#include "trace/shared.h"
#include "trace/trace-locate.h"

int trace_read_format(const Trace *trace, const GrantEvent *event, Format **ret, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        const char *system, *name;
        size_t size;

        trace_locate(trace, event, &system, &name);
        int r = event_read_format(trace->tracefs, system, name, &text, &size);
        return r ?: format_parse(text, size, ret, reason);
}

int trace_describe_filter(const Trace *trace,
                const GrantEvent *event,
                const char *filter,
                json_object **ret,
                Reason *reason) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        char full[512];

        (void)snprintf(full, sizeof(full), "%s:%s", event->system, event->name);
        int r = trace_read_format(trace, event, &format, reason);
        const FilterContext about = { .event = full, .format = format };
        return r ?: filter_describe(&about, filter, ret, reason);
}

static int put_filter(json_object *parts,
                const Trace *trace,
                const GrantEvent *event,
                const char *filter) {
        json_object *condition = NULL;
        Reason secret;

        if (!filter)
                return 0;
        int r = trace_describe_filter(trace, event, filter, &condition, &secret);
        if (r > 0) /* it was described when the session was granted */
                return -EBADMSG;
        return r ?: describe_append(parts, condition);
}

/* {"id": N, "condition": {"and": […]}} */
static int put_event(json_object *list, const Trace *trace, const GrantEvent *event) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        json_object *entry = json_object_new_object(), *condition = json_object_new_object(),
                    *parts = json_object_new_array();
        Reason reason;

        int r = describe_append(list, entry);
        if (r < 0) {
                json_object_put(condition);
                json_object_put(parts);
                return r;
        }
        r = describe_put(entry, "condition", condition);
        if (r < 0) {
                json_object_put(parts);
                return r;
        }
        r = describe_put(condition, "and", parts);
        r = r ?: trace_read_format(trace, event, &format, &reason);
        if (r > 0)
                return -EBADMSG;
        r = r ?: describe_put(entry, "id", json_object_new_uint64(format->id));
        r = r ?: put_filter(parts, trace, event, event->filter);
        return r ?: put_filter(parts, trace, event, event->policy_filter);
}

int trace_step_conditions(void *context, Reason *reason _unused_) {
        _cleanup_json_ json_object *list = json_object_new_array();
        Trace *trace = context;
        int r = list ? 0 : -ENOMEM;

        if (!trace_is_shared(trace))
                return 0;
        for (size_t i = 0; r == 0 && i < trace->grant->n_events; i++)
                if (trace->grant->events[i].filter || trace->grant->events[i].policy_filter)
                        r = put_event(list, trace, &trace->grant->events[i]);
        if (r < 0)
                return r;
        const char *text = json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN);
        close_cleanup(&trace->conditions_fd);
        trace->conditions_fd =
                        text ? fd_memfd_sealed("ktrace-conditions", text, strlen(text)) : -ENOMEM;
        return MIN_OF(trace->conditions_fd, 0);
}
