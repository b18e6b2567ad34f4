/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "terminal/options.h"

/* Lets the proxy's connection manage other users' sessions. KT_E_ACCESS_DENIED,
 * KT_E_AUTH_REQUIRED: polkit refuses. */
int administrator_begin(const Context *context, Proxy *proxy, Reason *reason);
/* Returns the id of the caller's session with this id or name. If the caller has none and
 * --administrator was given, it also searches other users' sessions. */
int administrator_resolve(const Context *context,
                Proxy *proxy,
                const char *name,
                char **ret_id,
                Reason *reason);
