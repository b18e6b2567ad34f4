/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/server.h"

/* NULL: it is gone. */
VarlinkConnection *varlink_call_get_connection(const VarlinkCall *call);
bool varlink_call_wants_more(const VarlinkCall *call);
/* The last answer: frees the call. parameters: borrowed, NULL for none. Consumes fd (-1: none),
 * which goes with the first byte of the message. A caller who said oneway gets nothing. */
void varlink_call_reply(VarlinkCall *call, json_object *parameters, int fd);
/* An answer that others follow; only to who said more. */
void varlink_call_notify(VarlinkCall *call, json_object *parameters);
/* The last answer: frees the call. name: "org.varlink.service.PermissionDenied". */
void varlink_call_error(VarlinkCall *call, const char *name, json_object *parameters);
/* The last answer: one with a single string, as the errors of org.varlink.service have. */
void varlink_call_error_with(VarlinkCall *call,
                const char *name,
                const char *key,
                const char *value);
/* … InvalidParameter. */
void varlink_call_refuse_parameter(VarlinkCall *call, const char *parameter);
