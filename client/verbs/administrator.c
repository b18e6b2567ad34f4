/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Access to other users' sessions, for the verbs that manage sessions. ktraced asks polkit
 * before it reveals whether such sessions exist, and grants the right to this connection only.
 * So the right is requested only if the user gave --administrator and has no session of that
 * name. A user never needs a password for their own session. */

#include "verbs/administrator.h"

#include "call/proxy-session.h"

int administrator_begin(const Context *context, Proxy *proxy, Reason *reason) {
        proxy->may_ask = context->ask_password;
        return proxy_order(proxy, NULL, "Administrate", NULL, reason);
}

int administrator_resolve(const Context *context,
                Proxy *proxy,
                const char *name,
                char **ret_id,
                Reason *reason) {
        int r = proxy_resolve(proxy, name, ret_id, reason);

        if (r != KT_E_NO_SUCH_SESSION || !context->administrator)
                return r;
        *reason = (Reason){};
        r = administrator_begin(context, proxy, reason);
        if (r == 0)
                r = proxy_resolve(proxy, name, ret_id, reason);
        return r;
}
