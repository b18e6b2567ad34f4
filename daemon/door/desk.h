/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "auth/auth.h"
#include "door/pace.h"
#include "door/waiting.h"
#include "door/watchers.h"

typedef struct Method Method;

typedef struct DeskHandlers {
        /* Called to reload rules and limits. Returns 0 if `request` is taken over; it is answered
         * when they apply to every session. Fails with KT_E_* and the reason; the old ones then
         * stay in force. */
        int (*on_reload)(void *userdata, Request *request, Reason *reason);
        /* As WatchersOptions.send. */
        bool (*send_notice)(const char *peer, json_object *notice, void *userdata);
} DeskHandlers;

/* The state that all doors share, so that using two doors gives a user no additional resources. */
typedef struct Desk {
        const Method *methods; /* that the doors serve, ended by an entry without a name */
        const Auth *auth;
        Registry *registry;
        DeskHandlers handlers;
        void *userdata;
        WaitingList waiting;
        Watchers *watchers;
        Pace pace;
        sd_event_source *turn_source;
        bool is_paced; /* a call of that uid is being handled; CPU time at its start */
        uid_t paced_uid;
        uint64_t paced_usec;
} Desk;

/* All pointers are borrowed and must outlive the desk, which must outlive the doors. */
int desk_new(sd_event *event,
                const Auth *auth,
                Registry *registry,
                const DeskHandlers *handlers,
                void *userdata,
                Desk **ret);
/* Calls that still wait are answered later, without the desk. */
Desk *desk_free(Desk *desk);
DEFINE_CLEANUP(Desk, desk_free);

/* Called before each call is handled, and before its data is read. Returns 0: the time spent until
 * the end of this loop turn is charged to this user. KT_E_LIMIT_REACHED with the reason: the user
 * is out of time. */
int desk_admit(Desk *desk, uid_t uid, Reason *reason);

/* Charges this user for work done in other turns of the loop: usec of CPU time. */
void desk_charge(Desk *desk, uid_t uid, uint64_t usec);
bool desk_has_time(const Desk *desk, uid_t uid);
/* Counts a call that was refused with this result in the daemon's totals. */
void desk_count_refusal(Desk *desk, int result);

/* Returns the reach for listing sessions and for looking at, stopping and ending them. All other
 * operations require REACH_OWN. */
SessionReach desk_get_reach(const Peer *peer);

/* The purpose for which a method needs its session. */
typedef enum Purpose {
        PURPOSE_OWN, /* starts or reads it */
        PURPOSE_MANAGE,
} Purpose;

/* peer: NULL if the caller is not known. Fails with KT_E_NO_SUCH_SESSION, or with
 * KT_E_ACCESS_DENIED and the reason if the caller can see the session but may not do this. */
int desk_find_session(const Desk *desk,
                const Peer *peer,
                Purpose purpose,
                const char *id,
                Session **ret,
                Reason *reason);
/* Returns the subject that a question is about. as_user: -1 for the caller. Only root may ask about
 * other users. */
int desk_find_asked(const Peer *peer, uid_t as_user, Subject *ret, Reason *reason);

/* Records polkit's answer to a request in the audit. rule, spec: NULL if there is none. */
void desk_record_polkit(Desk *desk,
                const Request *request,
                const char *action,
                int result,
                const Reason *said,
                const Spec *spec);
/* Updates the subject of a call that waited to the caller's current state. KT_E_CANCELLED: the
 * caller has left. */
int desk_renew_subject(const Desk *desk, Request *request);
