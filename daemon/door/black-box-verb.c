/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenBlackBox: a snapshot of the black box, which is the session of root with the name
 * KT_BLACK_BOX. The method table calls it. It names no session: a session of another user with this
 * name is never read.
 *
 * It answers root only. The next step answers users about their own past: a second instance
 * records births, execs and changes of credentials, and this verb cuts the records of all others
 * by what it has recorded. */
#include "door/black-box-verb.h"

#include <string.h>

#include "door/parameter.h"
#include "interfaces/defence.h"
#include "interfaces/names.h"
#include "session/registry.h"
#include "session/session-snapshot.h"
#include "session/session-state.h"

static void black_box_verb_look(Session *session, void *userdata) {
        Session **found = userdata;

        if (session_get_uid(session) == 0 && !session_is_of_container(session) &&
                        strcmp(session_get_name(session), KT_BLACK_BOX) == 0)
                *found = session;
}

int verb_open_black_box(MethodCall *call, Reason *reason) {
        const Subject root = { .uid = 0 };
        Session *session = NULL;

        if (call->peer->subject.uid != 0 && defence_is_on("black-box"))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the black box answers root only: it has the records of all users; "
                                "to keep the past of a program of yours, start it with "
                                "'ktracectl record --flight'");
        int r = parameter_read_flag(method_call_get(call, "options"), NULL, NULL, reason);
        r = r ?: method_call_wait(call, reason);
        if (r != 0)
                return r;
        registry_visit(call->desk->registry, &root, REACH_OWN, black_box_verb_look, &session);
        if (!session)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "the black box is off: 'ktracectl blackbox enable' turns it on");
        return session_snapshot(session, CONTROL_SINK_PIPE, call->request, reason);
}
