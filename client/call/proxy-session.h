/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"

/* Creates a session; spec is JSON. The listener then gets the session's signals. */
int proxy_create(Proxy *proxy, json_object *spec, char **ret_id, Reason *reason);
/* Returns the answer of CheckSession: what ktraced would do with this spec. */
int proxy_check(Proxy *proxy, json_object *spec, json_object **ret, Reason *reason);
/* The listener then gets the signals of a session that another process created. */
int proxy_subscribe(Proxy *proxy, const char *session, Reason *reason);
/* The listener then gets the notices of all the caller's sessions, or of all sessions, also from
 * the next daemon. A call of a proxy that is watching replaces its watch over the bus only: call it
 * once. */
int proxy_watch(Proxy *proxy, bool is_of_all, Reason *reason);
/* Makes the arguments of Watch. */
int proxy_make_watch(bool is_of_all, json_object **ret);
/* [{"id","path","name","uid","state"}] of the caller's sessions. Root and administrators get the
 * sessions of all users. */
int proxy_list(Proxy *proxy, json_object **ret, Reason *reason);
/* Finds the session with this id. If there is none, finds it by name. */
int proxy_resolve(Proxy *proxy, const char *name, char **ret_id, Reason *reason);
/* Makes the path of its D-Bus object. */
int proxy_make_path(const char *session, char **ret);
