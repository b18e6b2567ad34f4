/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door.h"

struct Door {
        sd_bus *bus;
        const Auth *auth;
        Registry *registry;
        sd_bus_slot *slots[4];
};

/* Sends the answer of a call that went well. */
typedef int (*CallAnswer)(sd_bus_message *m, Request *request);

/* Answers with the error of `result`. Returns what a handler returns: this call is done. */
int call_refuse(sd_bus_message *m, int result, const Reason *reason);
/* Answers a{sv}. `result` is how making the object went. */
int call_reply_json(sd_bus_message *m, int result, json_object *o, const Reason *reason);
/* CallAnswer without values. */
int call_reply_empty(sd_bus_message *m, Request *request);

/* A request that remembers the call and answers it when it is done. */
int call_new(Door *door, sd_bus_message *m, CallAnswer answer, Request **ret);
Request *call_free(Request *request);
DEFINE_CLEANUP(Request, call_free);

/* Refuses every key of an a{sv}: OpenStream and OpenSink know none yet. */
int call_read_no_options(sd_bus_message *m, Reason *reason);
