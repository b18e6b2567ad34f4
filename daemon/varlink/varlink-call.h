/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/server.h"

/* Returns NULL if the connection has closed. */
VarlinkConnection *varlink_call_get_connection(const VarlinkCall *call);
bool varlink_call_wants_more(const VarlinkCall *call);
/* For a handler: the entry of its table. */
const VarlinkMethod *varlink_call_get_method(const VarlinkCall *call);
/* The last answer: frees the call. parameters: borrowed, NULL for none. Consumes fd (-1: none),
 * which is sent with the first byte of the message. A oneway call gets no answer. */
void varlink_call_reply(VarlinkCall *call, json_object *parameters, int fd);
/* Sends one of several answers; only for a call with "more". */
void varlink_call_notify(VarlinkCall *call, json_object *parameters);
/* The last answer: frees the call. name: such as "org.varlink.service.PermissionDenied". */
void varlink_call_error(VarlinkCall *call, const char *name, json_object *parameters);
/* The last answer: an error with a single string parameter, as org.varlink.service defines them. */
void varlink_call_error_with(VarlinkCall *call,
                const char *name,
                const char *key,
                const char *value);
/* The last answer: InvalidParameter with the name of the parameter. */
void varlink_call_refuse_parameter(VarlinkCall *call, const char *parameter);
