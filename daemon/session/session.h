/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <systemd/sd-event.h>

#include "base/fd-store.h"
#include "define/definition.h"
#include "kernel/tracefs.h"
#include "policy/limit.h"
#include "policy/policy.h"
#include "probes/probe-set.h"
#include "spool/spool.h"
#include "work/audit.h"
#include "work/request.h"
#include "work/spawn.h"

typedef enum SessionState {
        SESSION_CREATING, /* not visible yet */
        SESSION_CONFIGURED,
        SESSION_STARTING,
        SESSION_RUNNING,
        SESSION_STOPPING,
        SESSION_STOPPED,
        SESSION_FAILED,
        SESSION_GONE, /* being removed; no verb can use it */
        _SESSION_STATE_N,
} SessionState;

typedef struct Session Session;
typedef struct Registry Registry;

typedef struct RegistryHandlers {
        void (*on_state)(Session *session,
                        void *userdata); /* any public state, with the first and `gone` */
        void (*on_ended)(Session *session,
                        const char *code,
                        const char *reason,
                        bool by_owner, /* by its owner's Destroy */
                        void *userdata);
        void (*on_notice)(Session *session,
                        json_object *notice,
                        void *userdata); /* as Notified in org.ktrace1.Session.xml */
        void (*on_idle_changed)(Registry *registry,
                        void *userdata); /* registry_is_idle may have changed */
        /* Reports the event loop's time that calls of this user took. NULL: not counted. */
        void (*on_spent)(uid_t uid, uint64_t usec, void *userdata);
        /* Returns whether this user has time left. NULL: every user has. */
        bool (*has_time)(uid_t uid, void *userdata);
} RegistryHandlers;

typedef struct RegistryOptions {
        sd_event *event;
        const char *tracefs_path; /* opened when first needed, so that callers get its errors */
        ConsumerLauncher launcher;
        Limits limits;
        const Policy *policy; /* borrowed */
        /* Needed if sessions are to outlive this daemon. NULL: they end with it. */
        const char *state_dir;
        FdStore *fd_store;
        const char *crash_dir; /* where `ktraced --collect` puts its batches; NULL: none */
        const char *bus_id;    /* the bus of the peers' names; NULL: not connected yet */
        const char *spool_dir; /* for recordings that survive a reboot; NULL: none */
        RegistryHandlers handlers;
        void *userdata;
} RegistryOptions;

/* KT_E_CANCELLED: the daemon ended before all was done. */
typedef void (*RulesHandler)(int result, void *userdata);

/* The verbs of a session are in session-*.h. If a verb does not return 0, its return value is the
 * answer, and the request stays the caller's. */

/* The new session has its id and nothing else. */
int session_new(Registry *registry, const char *id, Session **ret);
/* Fills in the trace. Spec, grant and owner must be set. */
void session_bind(Session *session);
void session_set_state(Session *session, SessionState state);
/* 0: off. */
void session_set_timer(Session *session, uint64_t usec);
/* The plan that makes the session is over. */
void session_then_created(Session *session, int result, const Reason *reason);
/* The session is complete: answers the call. */
void session_conclude_created(Session *session, int result, const Reason *reason);
/* Gives session->plan to the worker; `then` is called when it is over. */
void session_submit(Session *session, void (*then)(Session *, int, const Reason *));
/* Returns whether the first start decides if the processes, which the spec names by number, may be
 * traced. Until then the session is not recorded as allowed. */
bool session_is_decided_at_start(const Session *session);
/* Writes to the journal. */
void session_record(const Session *session, AuditKind kind, const char *text);
/* Records that the user of `request` did this, unless that user is the owner. Returns whether it
 * was recorded. */
bool session_record_other(const Session *session, const Request *request, const char *text);
/* The kernel must hold nothing of the session. Returns NULL. */
Session *session_free(Session *session);
