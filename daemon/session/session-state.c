/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What identifies a session, and its state. Its contents are registry.h's. */

#include "session/session-state.h"

#include "session/registry.h"

const char *session_state_to_string(SessionState state) {
        static const char *const names[_SESSION_STATE_N] = {
                [SESSION_CREATING] = "creating",
                [SESSION_CONFIGURED] = "configured",
                [SESSION_STARTING] = "starting",
                [SESSION_RUNNING] = "running",
                [SESSION_STOPPING] = "stopping",
                [SESSION_STOPPED] = "stopped",
                [SESSION_FAILED] = "failed",
                [SESSION_GONE] = "gone",
        };

        return names[state];
}

const char *session_get_id(const Session *session) {
        return session->id;
}

const char *session_get_name(const Session *session) {
        return session->spec->name ?: "";
}

uid_t session_get_uid(const Session *session) {
        return session->owner.uid;
}

SessionState session_get_state(const Session *session) {
        return session->state;
}
