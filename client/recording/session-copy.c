/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gets the events of a session without ending it. A recording on the machine's disk can be read at
 * any time. Of the other sessions, only a flight recorder keeps its events: they are read as a
 * snapshot. The events of a stream go to its reader. */

#include "recording/session-copy.h"

#include <stdlib.h>

#include "call/proxy-session.h"
#include "interfaces/cleanup.h"
#include "interfaces/descriptor.h"
#include "recording/spool-fetch.h"

static int copy_snapshot(Proxy *proxy, const char *name, int to, Reason *reason) {
        _cleanup_free_ char *id = NULL;
        _cleanup_close_ int from = -1;

        int r = proxy_resolve(proxy, name, &id, reason);
        r = r ?: proxy_open_fd(proxy, id, "Snapshot", NULL, &from, reason);
        return r ?: descriptor_copy(from, to);
}

int session_copy(Proxy *proxy, const char *name, int to, bool *ret_goes_on, Reason *reason) {
        _cleanup_free_ char *id = NULL;

        *ret_goes_on = false;
        int r = spool_resolve(proxy, name, &id, ret_goes_on, reason);
        if (r == 0)
                return spool_fetch_into(proxy, id, NULL, to, reason);
        return r == KT_E_NO_SUCH_SESSION ? copy_snapshot(proxy, name, to, reason) : r;
}
