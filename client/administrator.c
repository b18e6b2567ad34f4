/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions of others, for the verbs that manage them. ktraced asks polkit before it tells whether
 * there are any, and gives the right to this connection alone; so it is asked for only where the
 * user wants it and what they name is not theirs, and nobody types a password for a session of
 * their own. */

#include "administrator.h"

#include "proxy-session.h"

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
