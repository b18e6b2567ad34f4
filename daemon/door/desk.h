/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "auth/auth.h"
#include "door/pace.h"
#include "door/waiting.h"

typedef struct DeskHandlers {
        /* Rules and limits are to be read anew. 0: `request` is taken over, and answered when they
         * hold for every session. KT_E_* with the reason: the old ones stay. */
        int (*on_reload)(void *userdata, Request *request, Reason *reason);
} DeskHandlers;

/* What all doors share: nobody gets more by knocking at two of them. */
typedef struct Desk {
        const Auth *auth;
        Registry *registry;
        DeskHandlers handlers;
        void *userdata;
        WaitingList waiting;
        Pace pace;
        sd_event_source *turn_source;
        bool is_paced; /* a call of that uid is being handled, since that CPU time */
        uid_t paced_uid;
        uint64_t paced_usec;
} Desk;

/* All are borrowed and must outlive the desk, which outlives the doors. */
int desk_new(sd_event *event,
                const Auth *auth,
                Registry *registry,
                const DeskHandlers *handlers,
                void *userdata,
                Desk **ret);
/* What waits is answered without it. */
Desk *desk_free(Desk *desk);
DEFINE_CLEANUP(Desk, desk_free);

/* Before each call of somebody's, and before anything is read of it. 0: until the end of this turn
 * of the loop what is spent is theirs. KT_E_LIMIT_REACHED with the reason: they have had their
 * time. */
int desk_admit(Desk *desk, uid_t uid, Reason *reason);

/* Work for calls of this user that is done in other turns of the loop: usec of CPU time. */
void desk_charge(Desk *desk, uid_t uid, uint64_t usec);
bool desk_has_time(const Desk *desk, uid_t uid);

/* For listing sessions, looking at them, stopping and ending them. Whatever else is done with one
 * is done with REACH_OWN. */
SessionReach desk_get_reach(const Peer *peer);

/* What a method does with its session. */
typedef enum Purpose {
        PURPOSE_OWN, /* starts or reads it */
        PURPOSE_MANAGE,
} Purpose;

/* peer: NULL is nobody. KT_E_NO_SUCH_SESSION, or KT_E_ACCESS_DENIED with the reason where the
 * caller sees it but may not do this. */
int desk_find_session(const Desk *desk,
                const Peer *peer,
                Purpose purpose,
                const char *id,
                Session **ret,
                Reason *reason);
/* Of whom is a question? as_user: -1: of who asks. root may ask about others. */
int desk_find_asked(const Peer *peer, uid_t as_user, Subject *ret, Reason *reason);

/* polkit's answer to a request, for the audit. rule, spec: NULL where there is none. */
void desk_record_polkit(Desk *desk,
                const Request *request,
                const char *action,
                int result,
                const Reason *said,
                const Spec *spec);
/* The caller as it is now, for a call that waited. KT_E_CANCELLED: it has left. */
int desk_renew_subject(const Desk *desk, Request *request);
