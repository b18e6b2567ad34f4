/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One instance for several traces of the whole system, so that a process pays for the record of an
 * event once and not once for each viewer. Each trace opens the instance for itself and follows its
 * own plans (trace.c); this file counts who wants which event. On the worker thread, which runs one
 * step at a time, so that no lock is needed.
 *
 * The reader of the instance evaluates the filters of each viewer. The kernel has the filter of an
 * event only while all viewers of the event agree on it, so that less is recorded. While the event
 * is on, the kernel exchanges its filter without a moment in which it drops a record that both of
 * the filters let through.
 *
 * Nothing changes the size, the clock or the options of the instance after its creation: what a
 * trace wants beyond that needs an instance of its own (policy/grant-share.c). */

#include "trace/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/random-id.h"
#include "interfaces/text-same.h"
#include "kernel/filter.h"
#include "kernel/ring-files.h"
#include "trace/shared-changes.h"
#include "trace/trace-size.h"
#include "trace/trace.h"

int shared_new(const Tracefs *tracefs,
                const char *id,
                const char *clock,
                uint64_t buffer_kb,
                Shared **ret) {
        _cleanup_(shared_free_cleanup) Shared *shared = calloc(1, sizeof(*shared));

        if (!shared)
                return -ENOMEM;
        shared->pipe_fd = -1;
        shared->tracefs = tracefs;
        shared->buffer_kb = buffer_kb;
        shared->clock = strdup(clock);
        if (!shared->clock)
                return -ENOMEM;
        int r = shared_changes_new(&shared->changes);
        if (id)
                (void)snprintf(shared->id, sizeof(shared->id), "%s", id);
        else
                r = r ?: random_id_make(shared->id);
        if (r == 0)
                *ret = TAKE_PTR(shared);
        return r;
}

static void shared_forget_wishes(SharedEvent *event) {
        while (event->n > 0)
                free(event->wishes[--event->n].filter);
}

Shared *shared_free(Shared *shared) {
        if (!shared)
                return NULL;
        for (size_t i = 0; i < shared->n_events; i++) {
                free(shared->events[i].system);
                free(shared->events[i].name);
                free(shared->events[i].filter);
                shared_forget_wishes(&shared->events[i]);
                free(shared->events[i].wishes);
        }
        free(shared->events);
        shared_changes_free(shared->changes);
        close_cleanup(&shared->pipe_fd);
        instance_free(shared->instance);
        free(shared->clock);
        free(shared);
        return NULL;
}

bool trace_is_shared(const Trace *trace) {
        return trace->shared;
}

static void shared_forget_filter(SharedEvent *event) {
        free(event->filter);
        event->filter = NULL;
}

/* While a process holds one of its files, the instance stays, and another trace may still enter. */
static int shared_remove(Shared *shared) {
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];

        close_cleanup(&shared->pipe_fd);
        shared->instance = instance_free(shared->instance);
        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", shared->id);
        int r = instance_remove(shared->tracefs, name);
        if (r < 0) {
                (void)instance_open(shared->tracefs, name, &shared->instance);
                return r;
        }
        for (size_t i = 0; i < shared->n_events; i++) {
                shared_forget_wishes(&shared->events[i]);
                shared->events[i].was_on = false;
                shared_forget_filter(&shared->events[i]);
        }
        shared->is_adopted = false;
        return 0;
}

static int shared_create(Shared *shared, Reason *reason) {
        int r = instance_create(shared->tracefs, shared->id, &shared->instance);

        if (r < 0)
                return r;
        r = trace_size_buffer(shared->instance, shared->buffer_kb);
        if (r == -ENOMEM)
                r = reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "buffer-kb: the kernel has no memory for the shared instance: ask "
                                "for less");
        /* The kernel keeps unread records, and drops and counts new ones. */
        r = r ?: instance_set_option(shared->instance, "overwrite", false);
        r = r ?: instance_set_clock(shared->instance, shared->clock, reason);
        if (r != 0)
                (void)shared_remove(shared); /* nothing holds it */
        return r;
}

int trace_leave_shared(Trace *trace) {
        Shared *shared = trace->shared;
        int r = 0;

        if (!trace->is_inside)
                return 0;
        (void)trace_return_shared(trace); /* again, if it has failed at the end of the session */
        if (shared->n_inside == 1)
                r = shared_remove(shared);
        if (r < 0)
                return r;
        shared->n_inside--;
        trace->is_inside = false;
        return 0;
}

int shared_open_pipe(Shared *shared) {
        if (shared->pipe_fd < 0)
                shared->pipe_fd = instance_open_file(
                                shared->instance, "trace_pipe", O_RDONLY | O_NONBLOCK);
        if (shared->pipe_fd < 0)
                return shared->pipe_fd;
        int fd = fcntl(shared->pipe_fd, F_DUPFD_CLOEXEC, 3);
        return fd < 0 ? -errno : fd;
}

static SharedEvent *shared_find(const Shared *shared, const char *system, const char *name) {
        for (size_t i = 0; i < shared->n_events; i++)
                if (strcmp(shared->events[i].system, system) == 0 &&
                                strcmp(shared->events[i].name, name) == 0)
                        return &shared->events[i];
        return NULL;
}

bool shared_has_event(const Shared *shared, const char *system, const char *name) {
        const SharedEvent *event = shared_find(shared, system, name);

        return event && event->n > 0;
}

bool shared_lose_event(const Shared *shared, const char *system, const char *name) {
        SharedEvent *event = shared_find(shared, system, name);
        bool was_on = event && event->was_on;

        if (event)
                event->was_on = false;
        return was_on;
}

static int shared_add(Shared *shared, const char *system, const char *name, SharedEvent **ret) {
        SharedEvent *grown = reallocarray(shared->events, shared->n_events + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        shared->events = grown;
        SharedEvent event = { .system = strdup(system), .name = strdup(name) };
        if (!event.system || !event.name) {
                free(event.system);
                free(event.name);
                return -ENOMEM;
        }
        *ret = &shared->events[shared->n_events++];
        **ret = event;
        return 0;
}

bool shared_has_filter(const Shared *shared,
                const char *system,
                const char *name,
                const char *filter) {
        const SharedEvent *event = shared_find(shared, system, name);

        return event && text_is_same(event->filter, filter);
}

static int shared_wish(SharedEvent *event, uint32_t viewer, const char *filter) {
        SharedWish *grown = reallocarray(event->wishes, event->n + 1, sizeof(*grown));
        SharedWish wish = { .viewer = viewer };

        if (!grown)
                return -ENOMEM;
        event->wishes = grown;
        if (filter && !(wish.filter = strdup(filter)))
                return -ENOMEM;
        event->wishes[event->n++] = wish;
        return 0;
}

static void shared_unwish(SharedEvent *event, uint32_t viewer) {
        for (size_t i = event->n; i-- > 0;)
                if (event->wishes[i].viewer == viewer) {
                        free(event->wishes[i].filter);
                        event->wishes[i] = event->wishes[--event->n];
                        return;
                }
}

/* Returns the filter that all viewers have; NULL: they differ, or have none. */
static const char *shared_find_agreed(const SharedEvent *event) {
        const char *filter = event->n > 0 ? event->wishes[0].filter : NULL;

        for (size_t i = 1; filter && i < event->n; i++)
                if (!text_is_same(event->wishes[i].filter, filter))
                        filter = NULL;
        return filter;
}

static bool shared_event_is_wide(const SharedEvent *event) {
        for (size_t i = 0; i < event->n; i++)
                if (event->wishes[i].filter &&
                                !text_is_same(event->wishes[i].filter, event->filter))
                        return true;
        return false;
}

/* For the event loop: after each change of a filter or a wish. */
static void shared_note_wide(Shared *shared) {
        bool is_wide = false;

        for (size_t i = 0; i < shared->n_events; i++)
                is_wide = is_wide || shared_event_is_wide(&shared->events[i]);
        __atomic_store_n(&shared->is_wide, is_wide, __ATOMIC_RELAXED);
}

bool shared_is_wide(const Shared *shared) {
        return __atomic_load_n(&shared->is_wide, __ATOMIC_RELAXED);
}

static int shared_widen(const Shared *shared, SharedEvent *event) {
        char path[512];

        (void)snprintf(path, sizeof(path), "events/%s/%s/filter", event->system, event->name);
        int r = tracefs_write(shared->instance->fd, path, "0");
        if (r == 0 || r == -ENOENT) /* the event was removed */
                shared_forget_filter(event);
        return r == -ENOENT ? 0 : r;
}

/* If the kernel does not take the filter, the event has none. */
static int shared_narrow(const Shared *shared, SharedEvent *event, const char *filter) {
        Reason ignored;

        if (instance_add_filter(shared->instance, event->system, event->name, filter, &ignored) !=
                        0)
                return 0;
        event->filter = strdup(filter);
        return event->filter ? 0 : shared_widen(shared, event);
}

/* Chooses the kernel's filter before one more trace enables the event, or after one has disabled
 * it. */
static int shared_settle_filter(const Shared *shared, SharedEvent *event) {
        const char *agreed = shared_find_agreed(event);
        int r = 0;

        if (event->filter && !text_is_same(event->filter, agreed))
                r = shared_widen(shared, event);
        return r < 0 || !agreed || event->filter ? r : shared_narrow(shared, event, agreed);
}

int shared_widen_event(Shared *shared, const char *system, const char *name) {
        SharedEvent *event = shared_find(shared, system, name);
        int r = event ? shared_widen(shared, event) : 0;

        shared_note_wide(shared);
        return r;
}

/* Adoption */

int shared_adopt_event(Shared *shared,
                const char *system,
                const char *name,
                uint32_t viewer,
                const char *filter) {
        SharedEvent *event = shared_find(shared, system, name);
        int r = event ? 0 : shared_add(shared, system, name, &event);

        return r ?: shared_wish(event, viewer, filter);
}

/* The kernel has what the last daemon or another program has left. */
static int shared_check_filter(const Shared *shared, SharedEvent *event) {
        _cleanup_free_ char *now = NULL;
        char path[512];

        (void)snprintf(path, sizeof(path), "events/%s/%s/filter", event->system, event->name);
        int r = tracefs_read(shared->instance->fd, path, &now, NULL);
        if (r < 0) /* the event was removed */
                return r == -ENOENT ? 0 : r;
        now[strcspn(now, "\n")] = '\0';
        shared_forget_filter(event);
        if (strcmp(now, "none") != 0)
                event->filter = TAKE_PTR(now);
        return shared_settle_filter(shared, event);
}

/* Disables what was enabled for a session that does not continue. */
static int shared_disable_strays(const Shared *shared) {
        _cleanup_free_ char *text = NULL;
        char *rest;

        int r = tracefs_read_list(shared->instance->fd, "set_event", &text);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                char *name = strchr(line, ':');

                if (!name)
                        continue;
                *name++ = '\0';
                if (shared_has_event(shared, line, name))
                        continue;
                r = instance_enable_event(shared->instance, line, name, false);
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        return 0;
}

static int shared_reopen(Shared *shared) {
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];

        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", shared->id);
        int r = instance_open(shared->tracefs, name, &shared->instance);
        for (size_t i = 0; r == 0 && i < shared->n_events; i++)
                r = shared_check_filter(shared, &shared->events[i]);
        shared_note_wide(shared);
        r = r ?: shared_disable_strays(shared);
        shared->is_gone = r < 0;
        return r;
}

int trace_enter_shared(Trace *trace, Reason *reason) {
        Shared *shared = trace->shared;
        int r = 0;

        trace->is_wanted = calloc(trace->grant->n_events + 1, sizeof(bool));
        if (!trace->is_wanted)
                return -ENOMEM;
        if (shared->is_gone)
                return -ENODEV;
        if (!shared->instance)
                r = shared->is_adopted ? shared_reopen(shared) : shared_create(shared, reason);
        if (r != 0)
                return r;
        r = instance_open(shared->tracefs, shared->instance->name, &trace->instance);
        if (r < 0 && shared->n_inside == 0)
                (void)shared_remove(shared);
        shared->n_inside += r == 0;
        shared_changes_enter(trace);
        trace->is_inside = r == 0;
        return r;
}

int trace_reopen_shared(Trace *trace) {
        Shared *shared = trace->shared;
        int r = shared->is_gone ? -ENOENT : !shared->instance ? shared_reopen(shared) : 0;

        return r ?: instance_open(shared->tracefs, shared->instance->name, &trace->instance);
}

/* The reader would apply the cuts of the earlier event to the records of the new one. */
bool trace_meets_stale_event(const Trace *trace, size_t i) {
        const GrantEvent *granted = &trace->grant->events[i];
        const TraceLayout *layout = &trace->layouts[i];
        const Shared *shared = trace->shared;
        const SharedEvent *same = shared_find(shared, granted->system, granted->name);

        for (size_t k = 0; k < shared->n_events; k++) {
                const SharedEvent *event = &shared->events[k];
                bool is_known = event->n > 0 && event->layout.digest[0];

                if (is_known && (event->layout.id == layout->id || event == same) &&
                                strcmp(event->layout.digest, layout->digest) != 0)
                        return true;
        }
        return false;
}

void shared_note_stale(Shared *shared) {
        __atomic_store_n(&shared->is_stale, true, __ATOMIC_RELAXED);
}

bool shared_is_stale(const Shared *shared) {
        return __atomic_load_n(&shared->is_stale, __ATOMIC_RELAXED);
}

static void shared_note_on(SharedEvent *event, const TraceLayout *layout) {
        event->layout = *layout;
        event->was_on = true;
}

void trace_adopt_shared_on(const Trace *trace, size_t i) {
        const GrantEvent *granted = &trace->grant->events[i];
        SharedEvent *event = shared_find(trace->shared, granted->system, granted->name);

        if (event)
                shared_note_on(event, &trace->layouts[i]);
}

/* Each viewer enables it: a module may have removed the event and registered it again. */
static int shared_turn_on(const Trace *trace, SharedEvent *event, const char *filter) {
        const Shared *shared = trace->shared;

        int r = shared_wish(event, trace->viewer, filter);
        if (r < 0)
                return r;
        r = shared_settle_filter(shared, event);
        r = r ?: instance_enable_event(shared->instance, event->system, event->name, true);
        if (r < 0) {
                shared_unwish(event, trace->viewer);
                (void)shared_settle_filter(shared, event);
        }
        return r;
}

static int shared_turn_off(const Trace *trace, SharedEvent *event) {
        const Shared *shared = trace->shared;
        int r = 0;

        if (event->n == 1)
                r = instance_enable_event(shared->instance, event->system, event->name, false);
        if (r < 0 && r != -ENOENT) /* it was removed */
                return r;
        shared_unwish(event, trace->viewer);
        /* A filter that cannot be set lets more through than the viewers want. */
        if (event->n > 0)
                (void)shared_settle_filter(shared, event);
        return 0;
}

int trace_switch_shared(Trace *trace, size_t i, bool on, const char *filter) {
        const GrantEvent *granted = &trace->grant->events[i];
        Shared *shared = trace->shared;
        SharedEvent *event = shared_find(shared, granted->system, granted->name);
        int r = 0;

        if (trace->is_wanted[i] == on)
                return 0;
        if (!event)
                r = shared_add(shared, granted->system, granted->name, &event);
        if (r < 0)
                return r;
        r = on ? shared_turn_on(trace, event, filter) : shared_turn_off(trace, event);
        shared_note_wide(shared);
        if (r < 0)
                return r;
        if (on)
                shared_note_on(event, &trace->layouts[i]);
        trace->is_wanted[i] = on;
        return 0;
}

int trace_return_shared(Trace *trace) {
        int result = 0;

        if (trace->shared->is_gone || !trace->shared->instance)
                return 0;
        for (size_t i = 0; trace->is_wanted && i < trace->grant->n_events; i++) {
                int r = trace_switch_shared(trace, i, false, NULL);

                result = result ?: r;
        }
        return result;
}

int shared_open_rings(const Shared *shared, unsigned n_cpus, int **ret_fds, size_t *ret_n) {
        return shared->instance ? ring_files_open(shared->instance,
                                                  n_cpus,
                                                  "trace_pipe_raw",
                                                  O_WRONLY,
                                                  ret_fds,
                                                  ret_n)
                                : -ENODEV;
}

int shared_silence(const Shared *shared) {
        return shared->instance ? instance_disable_all(shared->instance) : 0;
}
