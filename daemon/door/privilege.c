/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods that root may call, and other users if polkit allows it. Reload is done by the
 * manager (DoorHandlers). Administrate marks the caller's connection in auth, and only that
 * connection; desk_get_reach defines what it may do. Watch with the option `all` needs the same
 * permission, and gives no other right. Used by the doors. Owns the request while
 * polkit is asked. If the caller leaves during that time, auth cancels the question and nothing is
 * done. */
#include "door/privilege.h"

#include <errno.h>

typedef struct Privilege {
        const char *action;
        /* Returns 0 if the request is or will be answered. */
        int (*use)(Desk *desk, Request *request, Reason *reason);
} Privilege;

typedef struct Asking {
        Desk *desk; /* used only on a yes: the desk may be freed when the daemon ends */
        Request *request;
        const Privilege *privilege;
} Asking;

static void privilege_finish(const Asking *asking, int result, const Reason *said) {
        Reason reason = *said;

        if (result == 0)
                result = asking->privilege->use(asking->desk, asking->request, &reason);
        if (result != 0)
                asking->request->done(asking->request, result, &reason); /* frees it */
}

static void privilege_on_polkit(int result, const Reason *said, void *userdata) {
        _cleanup_free_ Asking *asking = userdata;

        if (result != KT_E_CANCELLED)
                desk_record_polkit(asking->desk,
                                asking->request,
                                asking->privilege->action,
                                result,
                                said,
                                NULL);
        privilege_finish(asking, result, said);
}

static int privilege_ask(Desk *desk, Request *request, const Privilege *privilege, Reason *reason) {
        _cleanup_free_ Asking *asking = NULL;
        const PolkitQuery query = {
                .action = privilege->action,
                .peer = request->peer,
                .interactive = waiting_may_prompt(request),
        };

        if (request->subject.uid == 0) {
                privilege_finish(&(Asking){ desk, request, privilege }, 0, &(Reason){ "" });
                return 0;
        }
        asking = malloc(sizeof(*asking));
        if (!asking)
                return -ENOMEM;
        *asking = (Asking){ desk, request, privilege };
        int r = auth_ask_polkit(desk->auth, &query, privilege_on_polkit, asking, reason);
        if (r == 0)
                asking = NULL; /* owned by the question now */
        return r;
}

static int use_reload(Desk *desk, Request *request, Reason *reason) {
        return desk->handlers.on_reload(desk->userdata, request, reason);
}

int privilege_reload(Desk *desk, Request *request, Reason *reason) {
        static const Privilege reload = { KT_BUS_NAME ".reload", use_reload };

        return privilege_ask(desk, request, &reload, reason);
}

static int use_administrate(Desk *desk, Request *request, Reason *reason) {
        int r = auth_make_administrator(desk->auth, request->peer);

        if (r == 0)
                request->done(request, 0, reason);
        return r;
}

int privilege_administrate(Desk *desk, Request *request, Reason *reason) {
        static const Privilege administrate = { KT_BUS_NAME ".manage-sessions", use_administrate };

        return privilege_ask(desk, request, &administrate, reason);
}

static int use_watch_all(Desk *desk, Request *request, Reason *reason) {
        int r = watchers_add(desk->watchers, request->peer, request->subject.uid, true, reason);

        if (r == 0)
                request->done(request, 0, reason);
        return r;
}

int privilege_watch_all(Desk *desk, Request *request, Reason *reason) {
        static const Privilege watch_all = { KT_BUS_NAME ".manage-sessions", use_watch_all };

        return privilege_ask(desk, request, &watch_all, reason);
}
