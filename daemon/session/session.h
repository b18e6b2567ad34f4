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
/* KT_E_CANCELLED: the daemon ends first. */
typedef void (*RulesHandler)(int result, void *userdata);
/* From now on these rules (borrowed) and limits; sessions that no longer fit them end, with code
 * "policy". done: all sessions were judged; from a later turn of the loop, exactly once. NULL: not
 * called. Else than 0: the old ones stay. */
int registry_set_rules(Registry *registry,
                const Policy *policy,
                const Limits *limits,
                RulesHandler done,
                void *userdata);
/* Where decisions of other floors are recorded. */
Audit *registry_get_audit(const Registry *registry);
/* {"max-sessions":…, "sessions":…} for this uid. */
int registry_describe_limits(const Registry *registry, uid_t uid, json_object **ret);

/* {"version","pid","memory-kb","cpu-usec","uptime-usec","sessions","running","streams",
 * "kernel-buffer-kb","consumers":[{"session","uid","pid","memory-kb","cpu-usec"}]}: of sessions the
 * subject's own, root's all. */
int registry_describe_status(const Registry *registry, const Subject *subject, json_object **ret);
/* Of all users. */
void registry_count(const Registry *registry, size_t *ret_sessions, size_t *ret_streams);

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

/* Event verbs: what the subject may use. ret: sorted "system:name", NULL-terminated. */
int registry_list_events(Registry *registry,
                const Subject *subject,
                const char *glob,
                char ***ret,
                Reason *reason);
/* {"name","id","print-format","fields":[{"name","type","offset","size","elements","kind","signed",
 * "pointer","string","common"}]} */
int registry_describe_event(Registry *registry,
                const Subject *subject,
                const char *name,
                json_object **ret,
                Reason *reason);

/* Verbs. A return other than 0 is the answer: `done` will not be called and the request stays the
 * caller's. */
/* What session_create would say to this, without making anything and without asking polkit:
 * {"allowed","rule","polkit","scope","processes","events":[{"name","filter","redacted":[{"field",
 * "how"}]}],"requests":[…],"limits":{…},"notes":[…],"reasons":[…]}. Where it is not allowed,
 * reasons tells all that stands against it. */
int registry_check(Registry *registry,
                Request *request,       /* of the caller, who is told: answers with request->list */
                const Subject *subject, /* about whom is asked */
                Spec *spec /* consumed on 0 */,
                Reason *reason);

/* Asks policy each time, also when it tries again: see Request.ask. */
int session_create(Registry *registry,
                Request *request,
                Spec *spec /* consumed on 0 */,
                Reason *reason);
int session_start(Session *session, Request *request, Reason *reason);
int session_stop(Session *session, Request *request, Reason *reason);
int session_destroy(Session *session, Request *request, Reason *reason);
int session_open_stream(Session *session, ControlSink kind, Request *request, Reason *reason);
/* Of mode flight: a stream of what is there, which ends by itself. */
int session_snapshot(Session *session, ControlSink kind, Request *request, Reason *reason);
/* Events of the grant by name or glob, NULL-terminated. */
int session_switch_events(Session *session,
                char *const *patterns,
                bool on,
                Request *request,
                Reason *reason);
/* The buffer's size on each CPU, in kB. KT_E_LIMIT_REACHED: by the grant, all sessions together, or
 * the kernel's memory; it is as it was. */
int session_resize(Session *session, uint64_t kb, Request *request, Reason *reason);
/* Drops what nobody has read. */
int session_clear(Session *session, Request *request, Reason *reason);
/* A line of text among the events of a running session. */
int session_mark(Session *session, const char *text, Reason *reason);
/* The end of a pipe, a write a mark. */
int session_open_marker(Session *session, int *ret_fd, Reason *reason);
/* From now on `peer` (a unique name) is told what the creator is told, until it leaves. */
int session_subscribe(Session *session, const char *peer, Reason *reason);
/* The creator while it is there, and all that subscribed. */
void session_visit_peers(const Session *session,
                void (*visit)(const char *peer, void *userdata),
                void *userdata);
/* The table of the histogram with that name, or of that event; "": of the only one. Answers with
 * request->list: the head
 * {"name","event","keys","values","sort","size","hits","entries","told","dropped", "paused"}, then
 * its rows {"keys":{…},"hitcount","values":{…}}. KT_E_NO_SUCH_EVENT, KT_E_INVALID_SPEC (several are
 * meant), KT_E_WRONG_STATE (not laid yet), KT_E_FAILED. */
int session_get_histogram(Session *session, const char *name, Request *request, Reason *reason);
/* verb: "hist-clear", "hist-pause", "hist-continue". */
int session_change_histogram(Session *session,
                const char *name,
                const char *verb,
                Request *request,
                Reason *reason);
/* {"id","name","uid","state","spec":{…},"rule","events":[…],"off":[…],"requests":[{"pattern","matched","granted"}],"notes":[…]}
 */
int session_describe(const Session *session, json_object **ret);
/* {"cpus":[{"cpu","recorded","read","lost","dropped","overwritten","entries","bytes","oldest-nsec","now-nsec"}],"recorded","lost","written-bytes","discarded-bytes"}
 */
int session_statistics(const Session *session, json_object **ret);
/* The metadata JSON of the stream, as a sealed memfd. */
int session_metadata(const Session *session, int *ret_fd);

const char *session_get_id(const Session *session);
const char *session_get_name(const Session *session); /* "" when it has none */
uid_t session_get_uid(const Session *session);
SessionState session_get_state(const Session *session);
const char *session_state_to_string(SessionState state);
