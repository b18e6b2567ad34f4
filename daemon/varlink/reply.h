/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/visitor.h"

/* Each answers the call, which is gone then. */
void reply_refuse(VarlinkCall *call, int result, const Reason *reason);
/* {key: value}. Consumes value; NULL: there was no memory for it. */
void reply_value(VarlinkCall *call, const char *key, json_object *value);
/* result: how making the value went. */
void reply_result(VarlinkCall *call,
                int result,
                const char *key,
                json_object *value,
                const Reason *reason);
/* {key: 0}, and the fd, which is consumed. */
void reply_fd(VarlinkCall *call, const char *key, int fd);
void reply_empty(VarlinkCall *call);

/* Answers a call whose request went well. */
typedef void (*Reply)(VarlinkCall *call, Request *request);
void reply_with_nothing(VarlinkCall *call, Request *request);

/* A request that answers the call when it is done. 0: the call is the request's; else it is still
 * to be answered. parameters: what the call came with. */
int reply_later(VarlinkDoor *door,
                VarlinkCall *call,
                json_object *parameters,
                Reply reply,
                Request **ret,
                Reason *reason);
