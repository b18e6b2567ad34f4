/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gets the events of a session without ending it. A recording on the machine's disk can be read at
 * any time. Of the other sessions, only a flight recorder keeps its events: they are read as a
 * snapshot. The events of a stream go to its reader. */

#include "recording/session-copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "interfaces/cleanup.h"
#include "interfaces/descriptor.h"
#include "recording/spool-fetch.h"

/* Root also sees the sessions of others, who choose their names. */
int session_find_own(Proxy *proxy, const char *name, char **ret, Reason *reason) {
        _cleanup_json_ json_object *rows = NULL;

        int r = proxy_list(proxy, &rows, reason);
        if (r != 0)
                return r;
        for (size_t i = 0; i < json_object_array_length(rows) && !*ret; i++) {
                json_object *row = json_object_array_get_idx(rows, i);
                const char *id = json_object_get_string(json_object_object_get(row, "id")),
                           *of = json_object_get_string(json_object_object_get(row, "name"));

                if (json_object_get_uint64(json_object_object_get(row, "uid")) != geteuid() ||
                                (strcmp(id, name) != 0 && strcmp(of, name) != 0))
                        continue;
                *ret = strdup(id);
                if (!*ret)
                        return -ENOMEM;
        }
        return 0;
}

static int copy_snapshot(Proxy *proxy, const char *id, int to, Reason *reason) {
        _cleanup_close_ int from = -1;

        int r = proxy_open_fd(proxy, id, "Snapshot", NULL, &from, reason);
        return r ?: descriptor_copy(from, to);
}

/* An own session comes before older recordings that have its name, and those before the sessions of
 * others. */
int session_copy(Proxy *proxy, const char *name, int to, bool *ret_goes_on, Reason *reason) {
        _cleanup_free_ char *session = NULL, *recording = NULL;

        *ret_goes_on = false;
        int r = session_find_own(proxy, name, &session, reason);
        r = r ?: spool_resolve(proxy, session ?: name, &recording, ret_goes_on, reason);
        if (r == 0)
                return spool_fetch_into(proxy, recording, NULL, to, reason);
        if (r != KT_E_NO_SUCH_SESSION)
                return r;
        r = session ? 0 : proxy_resolve(proxy, name, &session, reason);
        return r ?: copy_snapshot(proxy, session, to, reason);
}
