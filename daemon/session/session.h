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
        SESSION_CREATING, /* not shown to anyone yet */
        SESSION_CONFIGURED,
        SESSION_STARTING,
        SESSION_RUNNING,
        SESSION_STOPPING,
        SESSION_STOPPED,
        SESSION_FAILED,
        SESSION_GONE, /* being taken away; no verb reaches it any more */
        _SESSION_STATE_N,
} SessionState;

typedef struct Session Session;
typedef struct Registry Registry;

typedef struct RegistryHandlers {
        void (*on_state)(Session *session,
                        void *userdata); /* any public state, also the first and `gone` */
        void (*on_ended)(Session *session,
                        const char *code,
                        const char *reason,
                        void *userdata); /* not asked for by its owner */
        void (*on_notice)(Session *session,
                        json_object *notice,
                        void *userdata); /* what org.ktrace1.Session.xml has of Notified */
        void (*on_idle_changed)(Registry *registry,
                        void *userdata); /* registry_is_idle may have a new answer */
        /* Work for calls of this user took so much of the event loop's time. NULL: not counted. */
        void (*on_spent)(uid_t uid, uint64_t usec, void *userdata);
        /* Has this user any time left? NULL: every user has. */
        bool (*has_time)(uid_t uid, void *userdata);
} RegistryHandlers;

typedef struct RegistryOptions {
        sd_event *event;
        const char *tracefs_path; /* opened at the first need, so that its errors reach the caller
                                     by name */
        ConsumerLauncher launcher;
        Limits limits;
        const Policy *policy; /* borrowed */
        /* For sessions to outlive this daemon; NULL: they do not. */
        const char *state_dir;
        FdStore *fd_store;
        const char *crash_dir; /* where `ktraced --collect` hands over what it finds; NULL: nowhere
                                */
        const char *bus_id;    /* on which peers have their names; NULL: it is not there yet */
        const char *spool_dir; /* what outlives the machine's boot; NULL: none */
        RegistryHandlers handlers;
        void *userdata;
} RegistryOptions;

/* KT_E_CANCELLED: the daemon ends first. */
typedef void (*RulesHandler)(int result, void *userdata);

/* Verbs. A return other than 0 is the answer: `done` will not be called and the request stays the
 * caller's. */

const char *session_get_id(const Session *session);
const char *session_get_name(const Session *session); /* "" when it has none */
uid_t session_get_uid(const Session *session);
SessionState session_get_state(const Session *session);
const char *session_state_to_string(SessionState state);

/* With its id, and nothing else yet. */
int session_new(Registry *registry, const char *id, Session **ret);
/* What its trace has of it: spec, grant and owner are there. */
void session_bind(Session *session);
void session_set_state(Session *session, SessionState state);
/* 0: off. */
void session_set_timer(Session *session, uint64_t usec);
/* The plan that makes it is over. */
void session_then_created(Session *session, int result, const Reason *reason);
/* It is made: answers the call. */
void session_conclude_created(Session *session, int result, const Reason *reason);
/* Gives session->plan to the worker; `then` is called when it is over. */
void session_submit(Session *session, void (*then)(Session *, int, const Reason *));
/* Whether its processes, which it names by number, may be traced is found out by its first start:
 * before that it is not recorded as allowed. */
bool session_is_decided_at_start(const Session *session);
/* Into the journal. */
void session_record(const Session *session, AuditKind kind, const char *text);
/* That this was done by whoever `request` is of, unless that is the owner. Returns whether. */
bool session_record_other(const Session *session, const Request *request, const char *text);
/* Nothing of it is in the kernel. Returns NULL. */
Session *session_free(Session *session);
