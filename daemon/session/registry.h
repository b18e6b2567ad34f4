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

void registry_get_usage(const Registry *registry, uid_t uid, Usage *ret);
/* What of a granted session this kernel cannot do, as far as tracefs tells it before anything is
 * made: from *next on, which moves behind what is told; 0: nothing more. In the words, and by the
 * codes, with which making it would be refused. */
int registry_check_kernel(Registry *registry,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason);
/* What the spec leaves out is set: to its default, or to what the grant and the limits allow where
 * that is less. A value that was given stays. */
void registry_settle_defaults(const Registry *registry,
                const Subject *subject,
                const Grant *grant,
                Spec *spec);
/* KT_E_LIMIT_REACHED, KT_E_NAME_TAKEN, or 0, of the spec with its defaults settled. *next: 0 at
 * first; after a refusal called again it continues with the limits after that. */
int registry_check_quota(const Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason);
/* The same of a session whose buffer is to have this size. */
int registry_check_resize(const Session *session, uint64_t kb, Reason *reason);
/* The format of an event, also of a probe that is not in the kernel yet: borrowed until the next
 * call. -ENOENT. */
int registry_get_format(Registry *registry,
                const char *system,
                const char *name,
                const Format **ret);
/* Policy's word about a spec, on the events that the kernel has now. The event loop is held until
 * it is made: see judgement.h. */
int registry_decide(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                Grant **ret,
                Reason *reason);
/* The fence, the kernel and the limits: what is decided after policy and before anything is made.
 * CheckSession reports what it says. */
int registry_judge_rest(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                Reason *reason);
/* The peer has left, so its calls of CreateSession are cancelled. */
void creation_peer_gone(Registry *registry, const char *peer);
/* In turns.c, whose plans are those of a reload: they take turns with root's own, and may use all
 * the time they need. */
#define UID_OF_RULES ((uid_t)-1)
/* The session is about to be freed. */
void reload_forget_session(Registry *registry, const Session *session);
/* Takes over what the session's client has not read yet. */
void registry_drain(Registry *registry, Feed *feed, uid_t uid);
void registry_changed(Registry *registry);
/* Of ours, what neither a session nor a probe answers for. What somebody holds is removed later:
 * `orphans` until then. */
void registry_remove_orphans(Registry *registry);
Orphans *orphans_free(Orphans *orphans);

/* Any reason but the owner's own Destroy; told to the owner. */
void session_end(Session *session, const char *code, const char *reason);
/* The daemon ends: everything at once, blocking. The worker is gone. */
void session_end_now(Session *session);
/* NULL: nobody is told any more, but for the creator. */
void session_unsubscribe(Session *session, const char *peer);
void session_unsubscribe_at(Session *session, size_t i);
/* The daemon ends and another one follows: the kernel and the consumers go on. The worker is gone.
 */
void session_leave(Session *session);
/* Lifetime unit: ends it when the unit's last process is gone, which may be at once. */
void session_watch_unit(Session *session);
/* The creator has left: why, for its notice. */
void session_peer_gone(Session *session, const char *why);
