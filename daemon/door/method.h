/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "door/desk.h"
#include "door/waiting.h"

/* What a parameter or a result is: in JSON, and on the bus. */
typedef enum ValueType {
        VALUE_TEXT,
        VALUE_NUMBER,
        VALUE_OBJECT,
        VALUE_TEXTS,
        VALUE_OBJECTS,
        VALUE_FD,       /* in JSON the index of the descriptor, 0 */
        VALUE_ID,       /* of a session */
        VALUE_SESSIONS, /* a list of sessions, as ListSessions has it */
        /* The bus has no such value: the object path names the session, and a flag of the message
         * allows polkit to ask for a password. */
        VALUE_SESSION,
        VALUE_MAY_ASK,
        VALUE_PATH, /* of the session that the result "id" names; only on the bus */
        _VALUE_N,
} ValueType;

/* Returns the D-Bus signature; NULL: the bus has no such value. */
const char *value_get_signature(ValueType type);
/* json_type_null: JSON has no such value. */
enum json_type value_get_json_type(ValueType type);

typedef struct MethodValue {
        const char *name; /* NULL ends a list */
        ValueType type;
        bool is_optional;  /* in JSON */
        const char *place; /* of VALUE_OBJECTS: what errors call the list; NULL: its name */
} MethodValue;

typedef struct MethodCall MethodCall;

/* A method that both doors serve, with the same name, parameters, results and errors. */
typedef struct Method {
        const char *name;
        const MethodValue *parameters, *results; /* NULL: none */
        /* Does the work. Returns 0 if the call has its result, or if it waits and its request was
         * taken over. All other values are the answer, with the reason. */
        int (*verb)(MethodCall *call, Reason *reason);
        /* The same for a method of a session that only waits: it needs the session and a request.
         */
        int (*session_verb)(Session *session, Request *request, Reason *reason);
        bool is_of_session;     /* has the parameter "session" */
        Purpose purpose;        /* for which it needs the session */
        bool is_for_containers; /* also for callers on the socket of a container */
        bool is_subscription;   /* reports events: signals on the bus, more replies over Varlink */
} Method;

/* What a door does for its calls. */
typedef struct MethodDoor {
        /* Sends the answer. result: {NAME: VALUE} for each result, borrowed. Consumes fd, -1 for
         * none. */
        void (*reply)(MethodCall *call, json_object *result, int fd);
        void (*refuse)(MethodCall *call, int result, const Reason *reason);
        void (*free)(MethodCall *call);
} MethodDoor;

/* One call of a method. A door's own data of a call must begin with it. */
struct MethodCall {
        Waiting waiting; /* must be the first member */
        const MethodDoor *door;
        const Method *method;
        Desk *desk;
        unsigned n_refs;
        /* Valid while the verb runs. */
        const Peer *peer; /* never NULL in a verb of the manager */
        json_object *parameters;
        Session *session; /* NULL: not a method of a session */
        Request *request; /* NULL: it does not wait */
        /* Set by a verb that does not wait: the only result. Owned by the call. */
        json_object *value;
        int fd;
};

/* Handles a call. The door has filled in door, method and desk. peer: NULL if the caller is not
 * known. parameters: an object that matches the table; borrowed, and changed. Consumes the call. */
void method_call_run(MethodCall *call, const Peer *peer, json_object *parameters);

/* For verbs. Makes call->request, which answers the call when it completes. KT_E_LIMIT_REACHED: the
 * user has too many waiting calls. */
int method_call_wait(MethodCall *call, Reason *reason);
json_object *method_call_get(const MethodCall *call, const char *name);
const char *method_call_get_text(const MethodCall *call, const char *name);
