/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy.h"

/* Spec as JSON. The listener hears of the session. */
int proxy_create(Proxy *proxy, json_object *spec, char **ret_id, Reason *reason);
/* What ktraced would say to this spec, as CheckSession answers it. */
int proxy_check(Proxy *proxy, json_object *spec, json_object **ret, Reason *reason);
/* The listener hears of a session that was made elsewhere. */
int proxy_subscribe(Proxy *proxy, const char *session, Reason *reason);
/* [{"id","path","name","uid","state"}], of one caller or, for root and administrators, of all. */
int proxy_list(Proxy *proxy, json_object **ret, Reason *reason);
/* The session with this id or, failing that, this name. */
int proxy_resolve(Proxy *proxy, const char *name, char **ret_id, Reason *reason);
/* Its object on the bus. */
int proxy_make_path(const char *session, char **ret);
