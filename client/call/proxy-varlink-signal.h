/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy-varlink.h"

/* The operations of the backend that proxy-varlink-signal.c contains, and its other functions. */
int proxy_varlink_subscribe(Proxy *proxy, const char *session, Reason *reason);
int proxy_varlink_watch(Proxy *proxy, bool is_of_all, Reason *reason);
int proxy_varlink_adopt(Proxy *proxy, const char *session, json_object *spec);
/* The client has called Destroy, so the session's `destroyed` is not reported. */
void proxy_varlink_note_destroy(ProxyVarlink *self, const char *session);
/* The connection of the calls has broken and is already freed. */
void proxy_varlink_lose(ProxyVarlink *self);
void proxy_varlink_signals_done(ProxyVarlink *self);
