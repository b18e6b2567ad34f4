/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads an instance that the kernel or a module has made. A part of trace.h, on the worker thread.
 * The session does not own the instance. Its size, its clock and its overwrite mode stay, because
 * changing them drops its records. Enabled events stay enabled and keep their filters. The session
 * restores everything that it has enabled or changed, and never removes the instance. It cannot
 * restore the records that it has read: each record can be read only once.
 *
 * Relies on: open files of an instance keep it. rmdir and the kernel's own removal fail with EBUSY
 * while the session lives. If a daemon was killed, the next daemon restores the changes of the
 * sessions that it takes over (keep.c), but not those of other sessions. */

#include "trace/trace-borrow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/describe.h"
#include "base/log.h"
#include "kernel/filter.h"
#include "trace/trace-pairs.h"

struct Borrow {
        char *clock;
        bool *has_turned_on; /* one per event of the grant */
        char **filters;      /* the previous filters; NULL: not changed */
        bool was_stopped;    /* tracing_on was 0 */
        uint64_t percent;    /* buffer_percent; the consumer changes it */
};

bool trace_is_borrowed(const Trace *trace) {
        return trace->spec->instance;
}

const char *trace_get_clock(const Trace *trace) {
        return trace->borrow ? trace->borrow->clock : trace->spec->clock;
}

bool trace_keeps_event(const Trace *trace, size_t i) {
        return trace->borrow && trace->is_live && !trace->borrow->has_turned_on[i] &&
               !(trace->is_off && trace->is_off[i]);
}

void trace_free_borrow(Trace *trace) {
        struct Borrow *borrow = trace->borrow;

        if (!borrow)
                return;
        for (size_t i = 0; borrow->filters && i < trace->grant->n_events; i++)
                free(borrow->filters[i]);
        free(borrow->filters);
        free(borrow->has_turned_on);
        free(borrow->clock);
        free(borrow);
        trace->borrow = NULL;
}

/* "local global [mono]" */
static int read_clock_name(const Instance *instance, char **ret) {
        _cleanup_free_ char *text = NULL;

        int r = tracefs_read(instance->fd, "trace_clock", &text, NULL);
        if (r < 0)
                return r;
        const char *begin = strchr(text, '[');
        const char *end = begin ? strchr(begin, ']') : NULL;
        if (!end)
                return -EBADMSG;
        *ret = strndup(begin + 1, (size_t)(end - begin - 1));
        return *ret ? 0 : -ENOMEM;
}

static int borrow_new(Trace *trace) {
        size_t n = trace->grant->n_events;
        struct Borrow *borrow = trace->borrow = calloc(1, sizeof(*borrow));

        if (!borrow)
                return -ENOMEM;
        borrow->has_turned_on = calloc(n + 1, sizeof(bool));
        borrow->filters = calloc(n + 1, sizeof(char *));
        return borrow->has_turned_on && borrow->filters ? 0 : -ENOMEM;
}

static int trace_borrow_open_instance(Trace *trace, Reason *reason) {
        const char *name = trace->spec->instance;

        int r = instance_open(trace->tracefs, name, &trace->instance);
        if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "instance: there is no %s in tracefs's instances",
                                name);
        return r ?: read_clock_name(trace->instance, &trace->borrow->clock);
}

int trace_borrow(Trace *trace, Reason *reason) {
        int r = borrow_new(trace);

        r = r ?: trace_borrow_open_instance(trace, reason);
        r = r ?: tracefs_read_u64(trace->instance->fd, "buffer_percent", &trace->borrow->percent);
        if (r != 0) {
                trace_free_borrow(trace);
                trace->instance = instance_free(trace->instance);
        }
        return r;
}

int trace_reopen_borrowed(Trace *trace, Reason *reason) {
        return trace_borrow_open_instance(trace, reason);
}

int trace_keep_borrow(const Trace *trace, json_object *object) {
        const struct Borrow *borrow = trace->borrow;
        json_object *kept, *events;
        int r;

        if (!borrow)
                return 0;
        kept = json_object_new_object();
        events = json_object_new_array();
        r = describe_put(object, "borrow", kept);
        if (r < 0) {
                json_object_put(events);
                return r;
        }
        r = describe_put(kept, "events", events);
        for (size_t i = 0; r == 0 && i < trace->grant->n_events; i++) {
                json_object *event = json_object_new_object();

                r = describe_append(events, event);
                r = r
                                    ?: describe_put(event,
                                                       "on",
                                                       json_object_new_boolean(
                                                                       borrow->has_turned_on[i]));
                if (r == 0 && borrow->filters[i])
                        r = describe_put(event,
                                        "filter",
                                        json_object_new_string(borrow->filters[i]));
        }
        r = r ?: describe_put(kept, "stopped", json_object_new_boolean(borrow->was_stopped));
        return r ?: describe_put(kept, "percent", json_object_new_uint64(borrow->percent));
}

int trace_adopt_borrow(Trace *trace, json_object *object) {
        json_object *kept = json_object_object_get(object, "borrow"),
                    *events = json_object_object_get(kept, "events");

        if (!trace_is_borrowed(trace))
                return 0;
        if (!json_object_is_type(events, json_type_array) ||
                        json_object_array_length(events) != trace->grant->n_events)
                return -EBADMSG;
        int r = borrow_new(trace);
        if (r < 0)
                return r;
        struct Borrow *borrow = trace->borrow;
        borrow->was_stopped = json_object_get_boolean(json_object_object_get(kept, "stopped"));
        borrow->percent = json_object_get_uint64(json_object_object_get(kept, "percent"));
        for (size_t i = 0; i < trace->grant->n_events; i++) {
                json_object *event = json_object_array_get_idx(events, i),
                            *filter = json_object_object_get(event, "filter");

                borrow->has_turned_on[i] =
                                json_object_get_boolean(json_object_object_get(event, "on"));
                borrow->filters[i] = filter ? strdup(json_object_get_string(filter)) : NULL;
                if (filter && !borrow->filters[i])
                        return -ENOMEM;
        }
        return 0;
}

int trace_give_back(Trace *trace) {
        char percent[24];

        if (!trace->borrow || !trace->instance) { /* already returned, or the instance is gone */
                trace_free_borrow(trace);
                return 0;
        }
        int r = trace_return_events(trace);
        if (r < 0)
                return r;
        trace_return_filters(trace);
        snprintf(percent, sizeof(percent), "%" PRIu64, trace->borrow->percent);
        r = tracefs_write(trace->instance->fd, "buffer_percent", percent);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                &(LogContext){ trace->id,
                                                trace->spec->instance,
                                                trace->owner->uid },
                                "cannot put back buffer_percent");
        trace_free_borrow(trace);
        return 0;
}

static int trace_borrow_is_on(const Trace *trace, const GrantEvent *event, bool *ret) {
        _cleanup_free_ char *text = NULL;
        char path[512];

        snprintf(path, sizeof(path), "events/%s/%s/enable", event->system, event->name);
        int r = tracefs_read(trace->instance->fd, path, &text, NULL);
        if (r == 0)
                *ret = text[0] == '1'; /* "0*" is disabled and has triggers */
        return r;
}

static int keep_filter(Trace *trace, size_t i) {
        const GrantEvent *event = &trace->grant->events[i];
        char path[512], *text;

        snprintf(path, sizeof(path), "events/%s/%s/filter", event->system, event->name);
        int r = tracefs_read(trace->instance->fd, path, &text, NULL);
        if (r == -ENOENT) /* event without filter */
                return 0;
        if (r < 0)
                return r;
        text[strcspn(text, "\n")] = '\0';
        free(trace->borrow->filters[i]);
        trace->borrow->filters[i] = text;
        return 0;
}

static int trace_borrow_set_filter(Trace *trace,
                const GrantEvent *event,
                const char *filter,
                Reason *reason) {
        char path[512];

        if (filter && strcmp(filter, "none") != 0)
                return instance_set_filter(
                                trace->instance, event->system, event->name, filter, reason);
        snprintf(path, sizeof(path), "events/%s/%s/filter", event->system, event->name);
        int r = tracefs_write(trace->instance->fd, path, "0");
        return r == -ENOENT ? 0 : r;
}

int trace_borrow_filter(Trace *trace, size_t i, const char *filter, Reason *reason) {
        const GrantEvent *event = &trace->grant->events[i];
        bool on = false;

        int r = trace_borrow_is_on(trace, event, &on);
        if (r < 0)
                return r;
        if (on && filter)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events: %s:%s is already on in %s, and stays as it is: it "
                                "takes no filter",
                                event->system,
                                event->name,
                                trace->spec->instance);
        if (on)
                return 0;
        r = keep_filter(trace, i);
        return r ?: trace_borrow_set_filter(trace, event, filter, reason);
}

void trace_return_filters(Trace *trace) {
        for (size_t i = 0; i < trace->grant->n_events; i++) {
                const GrantEvent *event = &trace->grant->events[i];
                bool on = true;

                if (!trace->borrow->filters[i])
                        continue;
                int r = trace_borrow_is_on(trace, event, &on);
                if (r == 0 && !on) /* else another program uses it */
                        r = trace_borrow_set_filter(trace, event, trace->borrow->filters[i], NULL);
                if (r != 0 && r != -ENOENT)
                        log_errno(MIN_OF(r, -EIO),
                                        LOG_WARNING,
                                        &(LogContext){ trace->id,
                                                        trace->spec->instance,
                                                        trace->owner->uid },
                                        "cannot put back the filter of %s:%s",
                                        event->system,
                                        event->name);
                free(trace->borrow->filters[i]);
                trace->borrow->filters[i] = NULL;
        }
}

int trace_borrow_event(Trace *trace, size_t i) {
        const GrantEvent *event = &trace->grant->events[i];
        bool on = false;

        int r = trace_borrow_is_on(trace, event, &on);
        if (r < 0 || on)
                return r;
        trace->borrow->has_turned_on[i] = true; /* also if enabling fails half-way */
        return instance_enable_event(trace->instance, event->system, event->name, true);
}

int trace_switch_borrowed(Trace *trace, size_t i, bool on) {
        const GrantEvent *event = &trace->grant->events[i];

        if (on || !trace->borrow->has_turned_on[i])
                return on ? trace_borrow_event(trace, i) : 0;
        int r = instance_enable_event(trace->instance, event->system, event->name, false);
        trace->borrow->has_turned_on[i] = r < 0;
        return r;
}

int trace_return_events(Trace *trace) {
        int result = 0;

        for (size_t i = 0; i < trace->grant->n_events; i++) {
                const GrantEvent *event = &trace->grant->events[i];

                if (!trace->borrow->has_turned_on[i])
                        continue;
                int r = instance_enable_event(trace->instance, event->system, event->name, false);
                trace->borrow->has_turned_on[i] = r < 0 && r != -ENOENT;
                if (trace->borrow->has_turned_on[i])
                        result = r;
        }
        if (result == 0 && trace->borrow->was_stopped) {
                trace->borrow->was_stopped = false;
                result = instance_set_tracing(trace->instance, false);
        }
        return result;
}

int trace_step_borrowed_latch(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        bool on = true;

        if (!trace->borrow)
                return 0;
        int r = instance_get_tracing(trace->instance, &on);
        if (r < 0 || on)
                return r;
        trace->borrow->was_stopped = true;
        return instance_set_tracing(trace->instance, true);
}
