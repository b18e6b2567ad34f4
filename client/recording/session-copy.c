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

static int copy_snapshot(Proxy *proxy, const char *id, int to, Reason *reason) {
        _cleanup_close_ int from = -1;

        int r = proxy_open_fd(proxy, id, "Snapshot", NULL, &from, reason);
        return r ?: descriptor_copy(from, to);
}

/* A session comes before older recordings that have its name. */
int session_copy(Proxy *proxy, const char *name, int to, bool *ret_goes_on, Reason *reason) {
        _cleanup_free_ char *session = NULL, *recording = NULL;

        *ret_goes_on = false;
        int r = proxy_resolve(proxy, name, &session, reason);
        if (r != 0 && r != KT_E_NO_SUCH_SESSION)
                return r;
        r = spool_resolve(proxy, session ?: name, &recording, ret_goes_on, reason);
        if (r == 0)
                return spool_fetch_into(proxy, recording, NULL, to, reason);
        return r == KT_E_NO_SUCH_SESSION && session ? copy_snapshot(proxy, session, to, reason) : r;
}
