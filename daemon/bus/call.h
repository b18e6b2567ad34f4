/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bus/door.h"
#include "door/desk.h"

struct Door {
        sd_bus *bus;
        Desk *desk;
        sd_bus_slot *slots[5];
        sd_event_source *after_turn, *turn;
};

/* Who sent it; NULL: nobody, and is refused. */
static inline const Peer *call_get_peer(const Door *door, sd_bus_message *m) {
        return auth_get_peer(door->desk->auth, m);
}

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

/* A request that remembers the call and answers it when it is done. KT_E_LIMIT_REACHED when as many
 * of this user wait already. */
int call_new(Door *door, sd_bus_message *m, CallAnswer answer, Request **ret, Reason *reason);
/* Reads an a{sv} that has this key, a boolean, or is empty; anything else is refused. */
int call_read_flag(sd_bus_message *m, const char *key, bool *ret, Reason *reason);
/* Refuses every key of an a{sv}: OpenStream and OpenSink know none yet. */
int call_read_no_options(sd_bus_message *m, Reason *reason);
