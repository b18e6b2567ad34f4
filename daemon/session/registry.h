/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot/boot.h"
#include "boot/crash.h"
#include "feed/feed.h"
#include "feed/marker.h"
#include "probes/inspection.h"
#include "probes/probe-set.h"
#include "session/format-cache.h"
#include "session/session.h"
#include "spool/spool.h"
#include "watch/hit-counter.h"
#include "watch/interference.h"
#include "watch/ledger.h"
#include "watch/losses.h"
#include "watch/meter.h"
#include "watch/newcomers.h"
#include "work/audit.h"
#include "work/notice.h"
#include "work/store.h"
#include "work/turns.h"

/* Inside the session floor only. */

/* How far the end of a session has come. */
typedef enum SessionEnd {
        END_NOT,
        END_WANTED,  /* as soon as no plan is in flight */
        END_QUIESCE, /* events off, names read */
        END_RELEASE, /* the consumer lets the rings go */
        END_REMOVE,  /* rmdir, again until nobody holds a file of it */
} SessionEnd;

#define SUBSCRIBERS_MAX 16 /* of a session */

typedef struct Snapshot Snapshot;
typedef struct HistCall HistCall;
typedef struct Look Look;
typedef struct Orphans Orphans;
typedef struct Judgement Judgement;
typedef struct Creation Creation;
typedef struct Reload Reload;

struct Session {
        Registry *registry;
        char id[KT_ID_DIGITS + 1];
        Subject owner;
        char *peer;
        char *kept_bus; /* on which the names of peers are, until we are on a bus ourselves; NULL */
        Spec *spec;
        Grant *grant;
        SessionState state;
        uint64_t rules; /* by which it was judged: registry->rules of that time */

        Trace trace;
        ArmReport report; /* of the last start */
        Plan plan;
        bool plan_in_flight;
        void (*then)(Session *session,
                        int result,
                        const Reason *reason); /* when the plan is over */
        SessionState state_before;
        Request *request; /* whose call the plan answers */

        ControlMember *members; /* found fit by the last start: whose records may pass */
        size_t n_members;
        bool had_stream;       /* with the daemon before this one: a worker read the rings */
        bool was_read;         /* a consumer has had the rings: what it took of them no other has */
        bool *is_off;          /* trace.is_off when no plan was in flight; NULL: all are on */
        bool is_armed;         /* `members` are those of a start that has come that far */
        OwnWrites *own_writes; /* announces them to the two that follow */
        Interference *interference; /* from the first start of what is judged */
        Ledger *ledger;             /* from the first start of what is not */
        uint64_t n_interferences;   /* changes by others that it has told of */
        uint64_t interference_nsec; /* as long as these stood, all in all */
        Newcomers *newcomers;       /* from the first start of a scope that has them */
        Meter *meter;               /* from the first start, where there is a limit */
        UnitWatch *unit_watch;      /* where the lifetime is a unit's */
        Feed *feed;
        Request *stream_request;
        bool waits_for_spool;
        FeedCounters counters;             /* of feeds that are over */
        TAILQ_HEAD(, Snapshot) snapshots;  /* not taken yet */
        TAILQ_HEAD(, HistCall) hist_calls; /* not answered yet */
        TAILQ_HEAD(, Look) looks;          /* at its windows, in flight */
        TraceWindows windows;              /* as last looked at */
        struct MarkerList markers;
        char *subscribers[SUBSCRIBERS_MAX]; /* unique names; no holes */
        Notices *notices;
        Losses *losses;   /* NULL: it loses nothing */
        HitCounter *hits; /* from the first start, where there are notify triggers */

        SessionEnd end;
        char end_code[32];
        char end_reason[256];
        Request *destroyer;
        unsigned n_remove_tries;
        sd_event_source *timer;      /* set-up, linger or the next rmdir */
        uint64_t lingers_until_usec; /* CLOCK_MONOTONIC; 0: its creator is there, or no end is set
                                      */

        TAILQ_ENTRY(Session) sessions;
};

TAILQ_HEAD(SessionList, Session);

/* A stream without its session: what was read is on its way to the client, or its worker hangs in
 * the kernel. */
typedef struct Drain {
        Registry *registry;
        Feed *feed;
        uid_t uid;
        TAILQ_ENTRY(Drain) drains;
} Drain;

TAILQ_HEAD(DrainList, Drain);

struct Registry {
        RegistryOptions options;
        Worker *worker;
        Turns *turns;
        TAILQ_HEAD(, Judgement) judgements; /* under way */
        TAILQ_HEAD(, Creation) creations;   /* calls of CreateSession that are being judged */
        TAILQ_HEAD(, Reload) reloads;       /* calls of registry_set_rules that are not over */
        uint64_t rules;                     /* how often these have changed */
        FormatCache *formats;
        Format *made_format; /* see registry_get_format */
        Audit *audit;
        Tracefs *tracefs; /* NULL until the first need */
        struct SessionList sessions;
        struct DrainList drains;
        Inspections *inspections;
        ProbeSet *probes;
        Store *store;        /* NULL: nothing outlives this daemon */
        unsigned n_adopting; /* sessions of the last daemon, on their way */
        Boot *boot;          /* NULL: none is under way */
        Orphans *orphans;    /* NULL: none is left */
        Crash *crash;
        Spool *spool; /* NULL: none */
        bool is_closing;
        uint64_t n_cpus; /* for quotas; reading it anew opens files */
};

/* What a uid uses, and all do. */
typedef struct Usage {
        uint64_t n_sessions, n_sessions_uid;
        uint64_t n_events_uid;
        uint64_t buffer_kb, buffer_kb_uid;
} Usage;

/* In turns.c, whose plans are those of a reload: they take turns with root's own, and may use all
 * the time they need. */
#define UID_OF_RULES ((uid_t)-1)
/* Takes over what the session's client has not read yet. */
void registry_drain(Registry *registry, Feed *feed, uid_t uid);
void registry_changed(Registry *registry);

/* Starts the worker thread. */
int registry_new(const RegistryOptions *options, Registry **ret);
/* Ends every session first; blocks until the kernel is as it was. */
Registry *registry_free(Registry *registry);
DEFINE_CLEANUP(Registry, registry_free);
/* Frees it and leaves the sessions to the daemon that follows. */
Registry *registry_leave(Registry *registry);
/* Opens the tracefs if it is there, takes over the sessions of the daemon before this one and
 * removes instances of ours that no session owns. Once, when the catalogue is loaded; else the
 * first call that needs the tracefs does so. */
void registry_open(Registry *registry);
/* Sessions of the last daemon are still on their way. */
bool registry_is_adopting(const Registry *registry);
bool registry_is_idle(const Registry *registry);
/* The bus has come (id: borrowed): peers whom a daemon before this one knew on another are gone. */
void registry_join_bus(Registry *registry, const char *id);
void registry_peer_gone(Registry *registry, const char *unique_name);
/* KT_E_NO_TRACING with the reason, or 0. */
int registry_get_tracefs(Registry *registry, const Tracefs **ret, Reason *reason);
/* NULL: this daemon has none. */
Spool *registry_get_spool(Registry *registry);
const Limits *registry_get_limits(const Registry *registry);
/* Some of the catalogue's programs have not been looked into yet: probes in them are not ready. */
bool registry_is_looking(const Registry *registry);
ProbeSet *registry_get_probes(const Registry *registry);
/* Where decisions of other floors are recorded. */
Audit *registry_get_audit(const Registry *registry);
/* The session of that id if it is within reach (root's is everybody's), or NULL: others do not
 * exist. */
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
