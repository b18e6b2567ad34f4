/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "kernel/event.h"
#include "kernel/watch.h"
#include "policy/digest.h"
#include "probes/probe-set.h"
#include "scope/arm.h"
#include "scope/pid-namespace.h"
#include "scope/unit-watch.h"
#include "work/plan.h"

/* A probe that is made of two events, as this instance alone has it. */
typedef struct TracePair {
        Probe *probe;
        char event[64];     /* in the kernel, in PAIR_SYSTEM */
        bool is_defined;    /* the event may be there */
        char *from, *to;    /* triggers that may be laid; NULL: not laid */
        uint64_t n_dropped; /* of both events: no room to remember them, when last looked */
} TracePair;

/* One of the kernel's triggers; start and stop may be several. */
typedef struct TraceTrigger {
        size_t event;  /* of the grant's events */
        size_t origin; /* of the spec's triggers */
        size_t target; /* of the grant's events: turned on or off; GRANT_NO_TARGET */
        char *command, *condition;
        const char *listed;     /* of a hist: as the kernel gives it back; the grant's */
        uint64_t count, left;   /* 0: without end; left: when last looked */
        bool is_hist, has_twin; /* the twin: on the guard, of the event's first histogram */
        bool is_laid;           /* hist: also while it is paused */
} TraceTrigger;

/* What of a running session's triggers only the kernel knows, when it was last looked. */
typedef struct TraceWindows {
        bool is_known;
        bool has_tracing, is_tracing; /* the window of all its events, and whether it is open */
        bool *has_window, *is_open;   /* each event of the grant */
        uint64_t *left;               /* each trigger of the spec: of its count */
} TraceWindows;

/* A task that was found fit, and of which records may pass from then on. */
typedef struct KnownTask {
        Task task;
        uint64_t since_nsec; /* of the trace's clock; 0: from the beginning */
} KnownTask;

/* A session's share of the kernel. While a plan of it is in flight it belongs to the worker thread,
 * else to the event loop. spec, grant and owner are the session's and never change. */
typedef struct Trace {
        const Tracefs *tracefs;
        const Spec *spec;
        const Grant *grant;
        const Subject *owner;
        OwnWrites *own_writes; /* the session's; NULL: nothing watches the instance */
        Caller caller;         /* who named the pids */
        char id[KT_ID_DIGITS + 1];
        char policy_digest[DIGEST_DIGITS + 1]; /* of the rules that made the grant */
        const char *boot_words; /* of the kernel's command line, by which it was begun; NULL: not so
                                 */

        UnitPlace unit; /* of a lifetime that is a unit's */

        Probe **probes; /* held, as long as the instance may have had them on */
        size_t n_probes;

        TracePair *pairs; /* those of the probes that are made of two events */
        size_t n_pairs;

        TraceTrigger *triggers;
        size_t n_triggers, next_trigger; /* cursor, besides `next` */

        Instance *instance; /* NULL: none in the kernel */
        bool is_leftover;   /* an undo could not remove the instance */
        size_t subbuf_size; /* bytes */
        unsigned n_cpus;
        int *stats_fds; /* n_cpus of per_cpu/cpuN/stats, so that reading them takes no lock of the
                           kernel */
        int metadata_fd;
        int counts_fd; /* what a consumer counts, described for it; -1: nothing */
        int marker_fd;
        uint32_t marker_id; /* of the event that marks are */
        bool has_list;      /* something is on the pid list: then the sentinel is */
        bool is_armed;      /* pids and filters are laid: by the first start */
        bool is_live;       /* events may be on */
        bool is_stopping;   /* taken over while they were being turned off */
        pid_t *pids;        /* the spec's, seen from here; NULL: as they stand there */
        Arm arm;            /* what is on the list, of the last start */
        /* Of the grant's events, those that the owner has turned off; NULL: none. Written by the
         * worker alone, since what looks whether all is laid reads it beside the session's plans.
         */
        bool *is_off;
        bool *is_asked;            /* of the same plan: said so, also where it is so already */
        bool *wants_off, *was_off; /* of a plan that turns events on and off */
        uint64_t wants_kb;         /* of a plan that changes the size of the buffer */
        uint64_t size_kb;          /* of the buffer, as the kernel rounds it; 0: not known */
        size_t next;               /* cursor of the step that is under way */
        int names_fd;              /* saved command names, for the end of the stream */
        int *ring_fds; /* buffer_percent, then raw and stats of each CPU; made by the rings plan */
        size_t n_ring_fds;
        bool has_snapshot;  /* of a flight recorder: the kernel swaps buffers */
        bool is_taken;      /* a snapshot is being taken: one at a time */
        bool has_caught;    /* a trigger has filled the second buffer, and nobody has taken it */
        bool is_dirty;      /* something of a snapshot that failed is in the second buffer */
        int taken_names_fd; /* saved command names of the snapshot that is being taken */
        int window_fd;      /* what the last snapshot has left to the next; -1: nothing */
        /* Members of a judged one, the event loop's; and those of them that are the same tasks
         * still when a snapshot of it is read, the plan's. */
        KnownTask *known, *proven;
        size_t n_known, n_proven, n_proof; /* n_proof: of known, when the plan began */

        struct Borrow *borrow; /* of an instance that somebody else made; NULL: it is ours */

        /* The fence; only where records are judged. */
        bool has_guard;  /* the kernel has the probe */
        bool is_guarded; /* armed in the instance, for this gid */
        gid_t guard_gid;
        int guard_fds[2]; /* tracing_on and the guard's hist, made by the rings plan; -1 */
        uint32_t fork_id, fork_child_offset, exit_id;
        uint32_t exec_id, exec_old_offset; /* 0: not followed */
        ControlText fork_name, exit_name, exec_file;
        Watch *watch; /* from the first start on; in the event loop's hands once that is over; NULL:
                         there is none, of one that is not judged */
} Trace;

void trace_init(Trace *trace);
/* Frees memory and closes fds; the kernel's instance stays. */
void trace_clear(Trace *trace);

/* All events off, the lifetimes last; what was under way can no longer arrive. -errno. */
int trace_disable_all(const Trace *trace);

/* mkdir, buffers, options, sentinel; all events off. Undone: no instance. */
void trace_plan_create(Trace *trace, Plan *plan);
/* First time: pids, guard, filters. All that Start does but for the events. Undone: the list as it
 * was. */
void trace_plan_arm(Trace *trace, Plan *plan);
/* After it: events on. Undone: all events off, and what arm has done. */
void trace_plan_start(Trace *trace, Plan *plan);
/* Events off, and nothing that was under way can still arrive. */
void trace_plan_stop(Trace *trace, Plan *plan);
/* The same, and the command names read. */
void trace_plan_quiesce(Trace *trace, Plan *plan);
/* rmdir. -EBUSY while a consumer still holds a ring. */
void trace_plan_remove(Trace *trace, Plan *plan);

int trace_read_statistics(const Trace *trace, unsigned cpu, CpuStatistics *ret);

void trace_plan(Trace *trace, Plan *plan, const PlanStep *steps, size_t n_steps, bool is_urgent);
/* How an undo went: nobody else is told. r: 0 or an errno. */
void trace_report_undo(const Trace *trace, int r, const char *what);
/* Steps of create that are the same for an instance that is there already: what is opened and read
 * of it. */
int trace_step_statistics(void *context, Reason *reason);
int trace_step_probes(void *context, Reason *reason);
int trace_step_marker(void *context, Reason *reason);
int trace_step_metadata(void *context, Reason *reason);
/* Of stop: events off. */
int trace_step_disable(void *context, Reason *reason);
