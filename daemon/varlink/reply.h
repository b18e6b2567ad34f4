/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/visitor.h"

/* Each function answers the call and frees it. */
void reply_refuse(VarlinkCall *call, int result, const Reason *reason);
/* Answers {key: value}. Consumes value; NULL means that memory was short. */
void reply_value(VarlinkCall *call, const char *key, json_object *value);
/* result: the result of creating the value. */
void reply_result(VarlinkCall *call,
                int result,
                const char *key,
                json_object *value,
                const Reason *reason);
/* Answers {key: 0} with the fd. Consumes fd. */
void reply_fd(VarlinkCall *call, const char *key, int fd);
void reply_empty(VarlinkCall *call);

/* Answers a call whose request succeeded. */
typedef void (*Reply)(VarlinkCall *call, Request *request);
void reply_with_nothing(VarlinkCall *call, Request *request);

/* Makes a request that answers the call when it completes. Returns 0 if the request owns the call;
 * otherwise the caller must still answer it. parameters: those of the call. */
int reply_later(VarlinkDoor *door,
                VarlinkCall *call,
                json_object *parameters,
                Reply reply,
                Request **ret,
                Reason *reason);
