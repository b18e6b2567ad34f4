/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot/boot.h"
#include "boot/crash.h"
#include "feed/feed.h"
#include "feed/marker.h"
#include "feed/share.h"
#include "probes/inspection.h"
#include "probes/probe-set.h"
#include "session/event-cache.h"
#include "session/session.h"
#include "spool/spool.h"
#include "watch/activity.h"
#include "watch/hit-counter.h"
#include "watch/interference.h"
#include "watch/ledger.h"
#include "watch/losses.h"
#include "watch/meter.h"
#include "watch/newcomers.h"
#include "work/audit.h"
#include "work/counters.h"
#include "work/notice.h"
#include "work/store.h"
#include "work/turns.h"

/* Private to the session floor. */

/* The progress of a session's end. */
typedef enum SessionEnd {
        END_NOT,
        END_WANTED,  /* begins when no plan is in flight */
        END_QUIESCE, /* events off, names read */
        END_RELEASE, /* the consumer releases the rings */
        END_REMOVE,  /* rmdir, until no process holds one of its files */
} SessionEnd;

#define SUBSCRIBERS_MAX 16 /* for each session */

typedef struct Snapshot Snapshot;
typedef struct HistCall HistCall;
typedef struct Look Look;
typedef struct Orphans Orphans;
typedef struct Pool Pool;
typedef struct BlackBox BlackBox;
typedef struct Judgement Judgement;
typedef struct Creation Creation;
typedef struct Reload Reload;

struct Session {
        Registry *registry;
        char id[KT_ID_DIGITS + 1];
        Subject owner;
        char *peer;
        char *kept_bus; /* the bus of the peers' names, before we join one; or NULL */
        Spec *spec;
        Grant *grant;
        SessionState state;
        uint64_t rules; /* the value of registry->rules when it was judged */

        Trace trace;
        ArmReport report; /* of the last start */
        Plan plan;
        bool plan_in_flight;
        void (*then)(Session *session, int result, const Reason *reason); /* after the plan */
        SessionState state_before;
        Request *request; /* the call that the plan answers */

        ControlMember *members; /* admitted by the last start; their records may pass */
        size_t n_members;
        bool had_stream;            /* a worker of the previous daemon read the rings */
        bool was_read;              /* a consumer has read the rings; its records are taken */
        bool *is_off;               /* trace.is_off when no plan was in flight; NULL: all are on */
        bool is_armed;              /* a start has set `members` */
        Activity *activity;         /* whether it records anything; from the creation on */
        OwnWrites *own_writes;      /* announces our writes to the next two members */
        Interference *interference; /* judged sessions, from the first start */
        Ledger *ledger;             /* other sessions, from the first start */
        uint64_t n_lost;            /* lost events */
        uint64_t n_lost_seen;       /* since the buffer was last cleared, at the last look */
        bool skips_losses;          /* adopted: its first losses are those of the last daemon */
        uint64_t n_interferences;   /* changes by others, as reported */
        uint64_t interference_nsec; /* total duration of these changes */
        Newcomers *newcomers;       /* from the first start, if the scope can have them */
        Meter *meter;               /* from the first start, if there is a limit */
        UnitWatch *unit_watch;      /* if the lifetime is that of a unit */
        ShareViewer *share;         /* NULL: it has an instance of its own */
        void (*after_share)(Session *session,
                        int result); /* it joins, leaves or moves; NULL: none */
        sd_event_source *move_retry; /* of the next attempt to leave the earlier instance; NULL:
                                        none */
        unsigned n_move_retries;
        uint64_t may_move_after_sec; /* of session_get_second(). The log says why */
        Feed *feed;
        Request *stream_request;
        bool waits_for_spool;
        FeedCounters counters;             /* of closed feeds */
        TAILQ_HEAD(, Snapshot) snapshots;  /* not taken yet */
        unsigned n_resumes;                /* of the snapshot that failed */
        TAILQ_HEAD(, HistCall) hist_calls; /* not answered yet */
        uint64_t *read_seconds;            /* of each trigger: the second of its last reading */
        sd_event_source *second;           /* NULL: no call has waited for a second yet */
        void (*at_second[2])(Session *session);
        void (*late)(Session *session); /* start or stop, which waits for the next second */
        TAILQ_HEAD(, Look) looks;       /* in flight, at its windows */
        TraceWindows windows;           /* at the last look */
        struct MarkerList markers;
        char *subscribers[SUBSCRIBERS_MAX]; /* unique names, without gaps */
        Notices *notices;
        Losses *losses;           /* NULL: it cannot have lost events */
        uint64_t n_lost_recorded; /* as in the journal */
        uint64_t n_hits_recorded; /* the same */
        HitCounter *hits;         /* from the first start, if there are notify triggers */

        SessionEnd end;
        char end_code[32];
        char end_reason[256];
        bool has_holder; /* a worker that does not respond may hold a ring */
        Request *destroyer;
        unsigned n_remove_tries;
        sd_event_source *timer;      /* set-up, linger or the next rmdir */
        uint64_t lingers_until_usec; /* CLOCK_MONOTONIC; 0: no end is set */

        TAILQ_ENTRY(Session) sessions;
};

TAILQ_HEAD(SessionList, Session);

/* For the log. */
#define SESSION_CONTEXT(s)                                                      \
        (&(LogContext){ (s)->id,                                                \
                        (s)->trace.instance ? (s)->trace.instance->name : NULL, \
                        (s)->owner.uid })

typedef struct Drain Drain;
TAILQ_HEAD(DrainList, Drain);

struct Registry {
        RegistryOptions options;
        Worker *worker;
        Turns *turns;
        TAILQ_HEAD(, Judgement) judgements; /* in progress */
        TAILQ_HEAD(, Creation) creations;   /* calls of CreateSession in judgement */
        TAILQ_HEAD(, Reload) reloads;       /* unfinished calls of registry_set_rules */
        uint64_t rules;                     /* number of changes to the rules */
        EventCache *events;
        Format *made_format; /* see registry_get_format */
        Audit *audit;
        Counters counters;
        json_object *totals;    /* those that users without records see; NULL: none asked yet */
        uint64_t totals_second; /* when they were made */
        Tracefs *tracefs;       /* NULL: not opened yet */
        /* Takes over what the previous daemon has left. Called when tracefs is opened. */
        void (*on_tracefs)(Registry *registry);
        struct SessionList sessions;
        struct DrainList drains;
        struct ShareList shares;
        Inspections *inspections;
        ProbeSet *probes;
        Store *store;        /* NULL: sessions end with this daemon */
        unsigned n_adopting; /* sessions of the previous daemon, in progress */
        Boot *boot;          /* NULL: not in progress */
        Orphans *orphans;    /* NULL: none left */
        Pool *pool;
        BlackBox *black_box;
        Crash *crash;
        Spool *spool; /* NULL: none */
        bool is_closing;
        uint64_t n_cpus; /* for quotas; reading it again opens files */
};

/* What one uid uses, and what all uids use. */
typedef struct Usage {
        uint64_t n_sessions, n_sessions_uid;
        uint64_t n_events_uid;
        uint64_t buffer_kb, buffer_kb_uid;
} Usage;

/* The uid of the plans of a reload in turns.c. They take turns with root's own plans and have no
 * time limit. */
#define UID_OF_RULES ((uid_t)-1)

/* Starts the worker thread. */
int registry_new(const RegistryOptions *options, Registry **ret);
/* Ends every session first. Blocks until the kernel is restored. */
Registry *registry_free(Registry *registry);
DEFINE_CLEANUP(Registry, registry_free);
/* Frees the registry and leaves the sessions to the next daemon. */
Registry *registry_leave(Registry *registry);
/* Opens the tracefs if it exists, takes over the sessions of the previous daemon, and removes our
 * instances that have no session. Call it once, when the catalogue is loaded. If the tracefs does
 * not exist yet, the first call that needs it does the same. */
void registry_open(Registry *registry);
/* Returns whether sessions of the previous daemon are still being taken over. */
bool registry_is_adopting(const Registry *registry);
/* We have joined the bus (id: borrowed). If the previous daemon was on another bus, the peers that
 * it knew there are gone. */
void registry_join_bus(Registry *registry, const char *id);
void registry_peer_gone(Registry *registry, const char *unique_name);
/* Returns NULL if this daemon has no spool. */
Spool *registry_get_spool(Registry *registry);
const Limits *registry_get_limits(const Registry *registry);
/* Returns whether some programs of the catalogue have not been inspected yet. The probes in them
 * are not ready. */
bool registry_is_looking(const Registry *registry);
ProbeSet *registry_get_probes(const Registry *registry);
/* For the decisions of other floors. */
Audit *registry_get_audit(const Registry *registry);
Counters *registry_get_counters(Registry *registry);
/* Returns the session with that id, or NULL if it is not within reach. All sessions are within
 * reach of root. */
Session *registry_find(Registry *registry,
                const Subject *subject,
                SessionReach reach,
                const char *id);
/* Calls visit for each session within reach, in creation order. */
void registry_visit(Registry *registry,
                const Subject *subject,
                SessionReach reach,
                void (*visit)(Session *session, void *userdata),
                void *userdata);
