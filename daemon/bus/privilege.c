/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Methods that root may call, and everybody else when polkit says so. Reload: what it does is the
 * manager's (DoorHandlers). Administrate: auth marks the connection, and only it; call_get_reach
 * tells what that is good for. Used by manager-object.c; owns the request while polkit is asked. A
 * caller who leaves meanwhile has not asked: auth withdraws the question. */
#include "privilege.h"

#include <errno.h>

typedef struct Privilege {
        const char *action;
        int (*use)(Door *door, const Request *request, Reason *reason);
} Privilege;

typedef struct Asking {
        Door *door; /* not touched but on a yes: the door may be gone when the daemon ends */
        Request *request;
        const Privilege *privilege;
} Asking;

static void finish(const Asking *asking, int result, const Reason *said) {
        Reason reason = *said;

        if (result == 0)
                result = asking->privilege->use(asking->door, asking->request, &reason);
        asking->request->done(asking->request, result, &reason); /* frees it */
}

static void on_polkit(int result, const Reason *said, void *userdata) {
        _cleanup_free_ Asking *asking = userdata;

        if (result != KT_E_CANCELLED)
                call_record_polkit(asking->door,
                                asking->request,
                                asking->privilege->action,
                                result,
                                said,
                                NULL);
        finish(asking, result, said);
}

static int ask(Door *door,
                sd_bus_message *m,
                Request *request,
                const Privilege *privilege,
                Reason *reason) {
        _cleanup_free_ Asking *asking = NULL;
        const PolkitQuery query = {
                .action = privilege->action,
                .peer = request->peer,
                .uid = request->subject.uid,
                .interactive = sd_bus_message_get_allow_interactive_authorization(m) > 0,
        };

        if (request->subject.uid == 0) {
                finish(&(Asking){ door, request, privilege }, 0, &(Reason){ "" });
                return 0;
        }
        asking = malloc(sizeof(*asking));
        if (!asking)
                return -ENOMEM;
        *asking = (Asking){ door, request, privilege };
        int r = polkit_ask(auth_get_polkit(door->auth), &query, on_polkit, asking, reason);
        if (r == 0)
                asking = NULL; /* the question's now */
        return r;
}

static int use_reload(Door *door, const Request *request _unused_, Reason *reason) {
        return door->handlers.on_reload(door->userdata, reason);
}

int privilege_reload(Door *door, sd_bus_message *m, Request *request, Reason *reason) {
        static const Privilege reload = { KT_BUS_NAME ".reload", use_reload };

        return ask(door, m, request, &reload, reason);
}

static int use_administrate(Door *door, const Request *request, Reason *reason _unused_) {
        return auth_make_administrator(door->auth, request->peer);
}

int privilege_administrate(Door *door, sd_bus_message *m, Request *request, Reason *reason) {
        static const Privilege administrate = { KT_BUS_NAME ".manage-sessions", use_administrate };

        return ask(door, m, request, &administrate, reason);
}
