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

/* Returns the sender; NULL: not known, must be refused. */
static inline const Peer *call_get_peer(const Door *door, sd_bus_message *m) {
        return auth_get_peer(door->desk->auth, m);
}

/* Sends the answer of a call that succeeded. */
typedef int (*CallAnswer)(sd_bus_message *m, Request *request);

/* Answers with the error of `result`. Returns the handler's return value: this call is handled. */
int call_refuse(sd_bus_message *m, int result, const Reason *reason);
/* Answers a{sv}. `result` is the result of creating the object. */
int call_reply_json(sd_bus_message *m, int result, json_object *o, const Reason *reason);
/* CallAnswer of request->list: aa{sv}. */
int call_reply_list(sd_bus_message *m, Request *request);
/* CallAnswer without values. */
int call_reply_empty(sd_bus_message *m, Request *request);

/* Creates a request that answers the call when it completes. Fails with KT_E_LIMIT_REACHED if the
 * user has too many waiting calls. */
int call_new(Door *door, sd_bus_message *m, CallAnswer answer, Request **ret, Reason *reason);
