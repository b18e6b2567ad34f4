/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "door.h"
#include "pace.h"

TAILQ_HEAD(CallList, Call);

struct Door {
        sd_bus *bus;
        const Auth *auth;
        Registry *registry;
        DoorHandlers handlers;
        void *userdata;
        struct CallList calls; /* that wait for their answer */
        Pace pace;
        sd_event_source *turn_source;
        bool is_paced; /* a call of that uid is being handled, since that CPU time */
        uid_t paced_uid;
        uint64_t paced_usec;
        sd_bus_slot *slots[5];
};

/* Sends the answer of a call that went well. */
typedef int (*CallAnswer)(sd_bus_message *m, Request *request);

/* Answers with the error of `result`. Returns what a handler returns: this call is done. */
int call_refuse(sd_bus_message *m, int result, const Reason *reason);
/* Answers a{sv}. `result` is how making the object went. */
int call_reply_json(sd_bus_message *m, int result, json_object *o, const Reason *reason);
/* CallAnswer of request->list: aa{sv}. */
int call_reply_list(sd_bus_message *m, Request *request);
/* CallAnswer without values. */
int call_reply_empty(sd_bus_message *m, Request *request);

/* For listing sessions, looking at them, stopping and ending them. Whatever else is done with one
 * is done with REACH_OWN. */
SessionReach call_get_reach(const Peer *peer);
/* A request that remembers the call and answers it when it is done. KT_E_LIMIT_REACHED when as many
 * of this user wait already. */
int call_new(Door *door, sd_bus_message *m, CallAnswer answer, Request **ret, Reason *reason);
/* What waits is answered without it. */
void call_forget_door(Door *door);
/* polkit's answer to a request, for the audit. rule, spec: NULL where there is none. */
void call_record_polkit(Door *door,
                const Request *request,
                const char *action,
                int result,
                const Reason *said,
                const Spec *spec);
/* The caller as it is now, for a call that waited. KT_E_CANCELLED: it has left. */
int call_renew_subject(Door *door, Request *request);
Request *call_free(Request *request);
DEFINE_CLEANUP(Request, call_free);

/* Reads an a{sv} that has this key, a boolean, or is empty; anything else is refused. */
int call_read_flag(sd_bus_message *m, const char *key, bool *ret, Reason *reason);
/* Refuses every key of an a{sv}: OpenStream and OpenSink know none yet. */
int call_read_no_options(sd_bus_message *m, Reason *reason);
