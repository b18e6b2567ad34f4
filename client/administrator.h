/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "options.h"
#include "proxy.h"

/* From now on the proxy's connection may manage sessions of others. KT_E_ACCESS_DENIED,
 * KT_E_AUTH_REQUIRED: polkit does not let it. */
int administrator_begin(const Context *context, Proxy *proxy, Reason *reason);
/* The id of the caller's session with this id or name; where there is none, and --administrator
 * was given, of anybody's. */
int administrator_resolve(const Context *context,
                Proxy *proxy,
                const char *name,
                char **ret_id,
                Reason *reason);
