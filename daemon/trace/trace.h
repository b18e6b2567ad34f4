/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "kernel/event.h"
#include "kernel/watch.h"
#include "policy/digest.h"
#include "probes/probe-set.h"
#include "scope/arm.h"
#include "scope/inner-pids.h"
#include "scope/pid-namespace.h"
#include "scope/unit-watch.h"
#include "trace/shared.h"
#include "work/plan.h"

/* A probe that is made of two events, as defined for this instance. */
typedef struct TracePair {
        Probe *probe;
        char event[64];     /* kernel name in PAIR_SYSTEM */
        bool is_defined;    /* the event may exist */
        char *from, *to;    /* installed triggers, or NULL */
        uint64_t n_dropped; /* of both events: lost for lack of space, as last read */
} TracePair;

/* A trigger in the kernel. A start or stop of the spec may need several. */
typedef struct TraceTrigger {
        size_t event;  /* index in the grant's events */
        size_t origin; /* index in the spec's triggers */
        size_t target; /* grant event to switch, or GRANT_NO_TARGET */
        char *command, *condition;
        const char *listed;     /* hist: as the kernel lists it; owned by the grant */
        uint64_t count, left;   /* 0: no limit; left: as last read */
        bool is_hist, has_twin; /* twin: on the guard, one per event */
        bool is_laid;           /* installed; a hist also while paused */
} TraceTrigger;

/* The state of a running session's triggers, as last read from the kernel. */
typedef struct TraceWindows {
        bool is_known;
        bool has_tracing, is_tracing; /* the window of all events, and if it is open */
        bool *has_window, *is_open;   /* per event of the grant */
        uint64_t *left;               /* rest of the count, per trigger of the spec */
} TraceWindows;

/* A task that was found fit. Its records may pass from since_nsec on. */
typedef struct KnownTask {
        Task task;
        uint64_t since_nsec; /* trace clock; 0: from the beginning */
} KnownTask;

/* The kernel state of a session. The worker thread owns it while one of its plans is in flight;
 * otherwise the event loop owns it. spec, grant and owner belong to the session and never change.
 */
struct Trace {
        const Tracefs *tracefs;
        const Spec *spec;
        const Grant *grant;
        const Subject *owner;
        OwnWrites *own_writes; /* the session's; NULL: no watch */
        Caller caller;         /* who named the pids */
        char id[KT_ID_DIGITS + 1];
        char policy_digest[DIGEST_DIGITS + 1]; /* of the rules that made the grant */
        const char *boot_words; /* words of the kernel's command line that started it, or NULL */

        UnitPlace unit; /* if a unit limits the lifetime */

        Probe **probes; /* kept while the instance may use them */
        size_t n_probes;

        TracePair *pairs; /* probes made of two events */
        size_t n_pairs;

        TraceTrigger *triggers;
        size_t n_triggers, next_trigger; /* cursor, in addition to `next` */

        Instance *instance; /* NULL: not in the kernel */
        Instance *prepared; /* NULL, or what becomes the instance: clock and buffer are set */
        bool is_leftover;   /* undo failed to remove the instance */
        bool is_prepared;   /* the instance was `prepared` */
        size_t subbuf_size; /* bytes */
        unsigned n_cpus;
        int *stats_fds; /* per_cpu/cpuN/stats of n_cpus; reading takes no kernel lock */
        int pipe_fd;    /* trace_pipe, only to be polled (activity.c); -1: must not be open */
        int metadata_fd;
        TraceLayout *layouts; /* of the grant's events, as in the metadata; NULL: unknown */
        char layouts_digest[DIGEST_DIGITS + 1]; /* of all of them; "": unknown. An adopted trace at
                                                   first has that of the last daemon */
        int counts_fd;                          /* plan for a counting consumer; -1: none */
        int conditions_fd; /* filters, for the reader of a shared instance; -1: none */
        int marker_fd;
        uint32_t marker_id; /* id of the event of marks */
        bool has_list;      /* the pid list has entries, with the sentinel */
        bool is_armed;      /* the first start set pids and filters */
        bool is_live;       /* events may be enabled */
        bool is_stopping;   /* adopted while a stop was in progress */
        pid_t *pids;        /* spec's pids in our namespace; NULL: unchanged */
        Arm arm;            /* the listed tasks of the last start */
        /* Events of the grant that the owner has disabled; NULL: none. Only the worker writes it,
         * because the check of the installed state reads it in parallel to the session's plans. */
        bool *is_off;
        bool *is_asked;            /* same plan: requested, even if already so */
        bool *wants_off, *was_off; /* for a plan that switches events */
        uint64_t wants_kb;         /* for a plan that resizes the buffer */
        uint64_t size_kb;          /* buffer size in the kernel; 0: unknown */
        size_t next;               /* cursor of the current step */
        int names_fd;              /* saved command names for the stream's end */
        struct TraceNames *names;  /* of all tasks at the last start; NULL: not needed */
        InnerPids inner;           /* of the tasks at the last start */
        bool inner_is_over;        /* streams show none anymore */
        int *ring_fds;             /* buffer_percent, then raw and stats of each CPU */
        size_t n_ring_fds;
        bool has_snapshot;     /* flight recorder: the kernel swaps buffers */
        bool is_taken;         /* a snapshot is in progress; one at a time */
        bool has_caught;       /* a trigger filled the second buffer; not taken yet */
        bool is_dirty;         /* the second buffer has data of a failed snapshot */
        int taken_names_fd;    /* saved command names for the snapshot */
        int window_fd;         /* the window of the last snapshot; -1: none */
        unsigned n_windows;    /* of all snapshots */
        int partial_fd;        /* what a failed snapshot has kept; -1: none */
        bool is_resuming;      /* the failed snapshot is read to its end: no other one begins */
        CpuStatistics *frozen; /* the counters of the second buffer; NULL: it was not swapped */
        /* known: the members of a judged trace, owned by the event loop. proven: those members that
         * are still the same tasks when a snapshot is read, owned by the plan. */
        KnownTask *known, *proven;
        size_t n_known, n_proven, n_proof; /* n_proof: n_known when the plan began */

        struct Borrow *borrow; /* for an instance of another maker; else NULL */

        /* For a shared instance; else NULL. The feed's share owns what the pointers show. A trace
         * can move to another one: trace-move.c exchanges the members that belong to it. */
        Shared *shared;
        const char *exclusive; /* what needs an own instance although the spec allows to share */
        uint32_t viewer;       /* its number in the shared instance */
        const ShareCounters *viewed; /* what it got; one for each CPU */
        const int *view_fds;         /* the worker's end; see VIEW in control.h */
        bool is_inside;              /* counted in shared->n_inside */
        uint64_t n_changes;          /* by other programs that it knows */
        bool *is_wanted;             /* events of the grant that it has enabled there */

        /* The fence. Used only if records are judged. */
        bool has_guard;  /* the kernel has the probe */
        bool is_guarded; /* armed in the instance, for this gid */
        gid_t guard_gid;
        int guard_fds[2]; /* tracing_on and the guard's hist, or -1 */
        uint32_t fork_id, fork_child_offset, exit_id;
        uint32_t exec_id, exec_old_offset; /* 0: exec is not followed */
        ControlText fork_name, exit_name, exec_file;
        Watch *watch; /* from the first start on; then used by the event loop; NULL: no watch */
};

void trace_init(Trace *trace);
/* Frees memory and closes fds; does not remove the kernel's instance. */
void trace_clear(Trace *trace);

/* Enables or disables the grant's event i. Enabling fails with KT_E_NO_SUCH_EVENT and the reason if
 * the kernel does not have the event of the metadata any more. */
int trace_enable(Trace *trace, size_t i, bool on, Reason *reason);
/* Disables all events, the lifetimes last. No record can arrive after it. Returns 0 or -errno. */
int trace_disable_all(const Trace *trace);

/* Returns whether the trace has no effect once its events are off, so that only the memory of its
 * instance remains to be freed. Not so if the removal restores another maker's instance, or removes
 * a tracer, triggers or probes made of two events. */
bool trace_is_over(const Trace *trace);

/* The same as trace_plan_remove(), without a worker: the daemon ends. */
int trace_remove_now(Trace *trace);
/* Returns whether a failed creation has left an instance in the kernel. */
bool trace_has_leftover(const Trace *trace);

/* Makes the instance and sets buffers and options; all events are disabled. Undo removes the
 * instance. */
void trace_plan_create(Trace *trace, Plan *plan);
/* At the first start: sets pids, guard and filters. Does the whole start except enabling the
 * events. Undo restores the list. */
void trace_plan_arm(Trace *trace, Plan *plan);
/* Follows arm: enables the events. Undo disables all events and undoes arm. */
void trace_plan_start(Trace *trace, Plan *plan);
/* Disables the events. No record can arrive after it. */
void trace_plan_stop(Trace *trace, Plan *plan);
/* The same, and reads the command names. */
void trace_plan_quiesce(Trace *trace, Plan *plan);
/* Removes the instance. Fails with -EBUSY while a consumer holds a ring. */
void trace_plan_remove(Trace *trace, Plan *plan);

void trace_plan(Trace *trace, Plan *plan, const PlanStep *steps, size_t n_steps, bool is_urgent);
/* Logs a failed undo, which has no other report. r: 0 or -errno. */
void trace_report_undo(const Trace *trace, int r, const char *what);
/* Steps of create that also apply to an existing instance: they open and read its files. */
int trace_step_statistics(void *context, Reason *reason);
int trace_step_probes(void *context, Reason *reason);
int trace_step_marker(void *context, Reason *reason);
int trace_step_metadata(void *context, Reason *reason);
/* Step of start: enables the events. */
int trace_step_events(void *context, Reason *reason);
/* Step of stop: disables the events. */
int trace_step_disable(void *context, Reason *reason);
