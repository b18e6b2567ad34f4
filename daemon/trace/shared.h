/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/share.h"
#include "kernel/instance.h"
#include "trace/trace-layout.h"

/* What one viewer wants of an event. */
typedef struct SharedWish {
        uint32_t viewer;
        char *filter; /* NULL: all of it */
} SharedWish;

/* An event that viewers have enabled in a shared instance. */
typedef struct SharedEvent {
        char *system, *name;
        SharedWish *wishes;
        size_t n;           /* wishes */
        char *filter;       /* in the kernel; NULL: none */
        TraceLayout layout; /* of the last one that has enabled it */
        bool was_on;        /* the instance may have records of it */
} SharedEvent;

/* One instance of the kernel for several traces. The worker thread owns it after its creation or
 * its adoption; the event loop reads the members that never change. */
typedef struct Shared {
        const Tracefs *tracefs;
        char id[KT_ID_DIGITS + 1];
        char *clock;
        uint64_t buffer_kb; /* per CPU */
        Instance *instance; /* NULL: not in the kernel */
        int pipe_fd;        /* trace_pipe, only to be polled; -1: not open */
        SharedEvent *events;
        size_t n_events;
        unsigned n_inside; /* traces */
        bool is_adopted;   /* by trace_adopt_shared(); its instance is opened and checked later */
        bool is_gone;      /* it could not be adopted */
        bool is_stale;     /* atomic, see shared_is_stale() */
        bool is_wide;      /* atomic, see shared_is_wide() */
        struct SharedChanges *changes; /* by other programs */
} Shared;

/* id NULL: a new one. */
int shared_new(const Tracefs *tracefs,
                const char *id,
                const char *clock,
                uint64_t buffer_kb,
                Shared **ret);
/* Frees memory; does not remove the kernel's instance. */
Shared *shared_free(Shared *shared);
DEFINE_CLEANUP(Shared, shared_free);

/* For trace_adopt_shared(): one more viewer wants the event with this filter. */
int shared_adopt_event(Shared *shared,
                const char *system,
                const char *name,
                uint32_t viewer,
                const char *filter);
/* The grant's event i is on, with the layout that the trace knows. */
void trace_adopt_shared_on(const Trace *trace, size_t i);

/* Steps of the plans of trace.c. */

bool trace_is_shared(const Trace *trace);
/* Makes the instance if this is the first trace, and opens it for the trace. */
int trace_enter_shared(Trace *trace, Reason *reason);
/* The last trace removes the instance; -EBUSY: a process holds it. */
int trace_leave_shared(Trace *trace);
/* Returns a descriptor of trace_pipe, which is opened once for all traces: newer kernels refuse a
 * second time. It may only be polled. */
int shared_open_pipe(Shared *shared);
/* Counts the viewers of the grant's event i. It is disabled when none is left. filter: what this
 * trace needs of the event; NULL: all of it, or it is disabled. */
int trace_switch_shared(Trace *trace, size_t i, bool on, const char *filter);
/* Returns whether another viewer has enabled the event, or one with its id, with another layout:
 * the kernel has removed that one. */
bool trace_meets_stale_event(const Trace *trace, size_t i);
/* A trace met such an event. */
void shared_note_stale(Shared *shared);
/* Returns whether a trace has met one: a new trace would meet it too. Called by the event loop. */
bool shared_is_stale(const Shared *shared);
/* Returns whether the kernel records more of an event than the filter of one of its viewers lets
 * through. Called by the event loop. */
bool shared_is_wide(const Shared *shared);
/* Opens the instance for an adopted trace. The first one makes the kernel agree with what all of
 * them want. Fails with -ENOENT if there is no such instance. */
int trace_reopen_shared(Trace *trace);
/* Takes back all events that the trace has enabled. */
int trace_return_shared(Trace *trace);
/* Returns whether the viewers agreed on this filter for the kernel. */
bool shared_has_filter(const Shared *shared,
                const char *system,
                const char *name,
                const char *filter);
/* Removes the kernel's filter, whoever wrote it. */
int shared_widen_event(Shared *shared, const char *system, const char *name);
/* Returns whether any viewer wants the event. */
bool shared_has_event(const Shared *shared, const char *system, const char *name);
/* The kernel has no such event any more. Returns whether its removal has emptied the ring; the next
 * calls return false. */
bool shared_lose_event(const Shared *shared, const char *system, const char *name);
/* Opens the files of the rings for the reader. On failure *ret_fds has those that are open. */
int shared_open_rings(const Shared *shared, unsigned n_cpus, int **ret_fds, size_t *ret_n);
/* For the end of the daemon: disables all events. */
int shared_silence(const Shared *shared);
