/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy-varlink.h"

/* proxy-varlink-signal.c: the ops of the backend, and what else it has to do. */
int proxy_varlink_subscribe(Proxy *proxy, const char *session, Reason *reason);
int proxy_varlink_adopt(Proxy *proxy, const char *session, json_object *spec);
/* Its `destroyed` is no news. */
void proxy_varlink_note_destroy(ProxyVarlink *self, const char *session);
/* The connection of the calls has broken, and is gone. */
void proxy_varlink_lose(ProxyVarlink *self);
void proxy_varlink_signals_done(ProxyVarlink *self);
