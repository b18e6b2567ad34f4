/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Methods that root may call, and everybody else when polkit says so. Reload: what it does is the
 * manager's (DoorHandlers). Administrate: auth marks the connection, and only it; desk_get_reach
 * tells what that is good for. Used by the doors; owns the request while polkit is asked. A
 * caller who leaves meanwhile has not asked: auth withdraws the question. */
#include "door/privilege.h"

#include <errno.h>

typedef struct Privilege {
        const char *action;
        /* 0: the request is answered, or will be. */
        int (*use)(Desk *desk, Request *request, Reason *reason);
} Privilege;

typedef struct Asking {
        Desk *desk; /* not touched but on a yes: the desk may be gone when the daemon ends */
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
                asking = NULL; /* the question's now */
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
