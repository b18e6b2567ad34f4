/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Manager.Reload: root may, everybody else when polkit says so. What it does is the manager's
 * (DoorHandlers). Used by manager-object.c; owns the request while polkit is asked. A caller who
 * leaves meanwhile has not asked: auth withdraws the question. */
#include "reload.h"

#include <errno.h>

#define ACTION KT_BUS_NAME ".reload"

typedef struct Reload {
        Door *door; /* not touched but on a yes: the door may be gone when the daemon ends */
        Request *request;
} Reload;

static void finish(Door *door, Request *request, int result, const Reason *said) {
        Reason reason = *said;

        if (result == 0)
                result = door->handlers.on_reload(door->userdata, &reason);
        request->done(request, result, &reason); /* frees it */
}

static void on_polkit(int result, const Reason *said, void *userdata) {
        _cleanup_free_ Reload *reload = userdata;

        if (result != KT_E_CANCELLED)
                call_record_polkit(reload->door, reload->request, ACTION, result, said, NULL);
        finish(reload->door, reload->request, result, said);
}

int reload_request(Door *door, sd_bus_message *m, Request *request, Reason *reason) {
        _cleanup_free_ Reload *reload = NULL;
        const PolkitQuery query = {
                .action = ACTION,
                .peer = request->peer,
                .uid = request->subject.uid,
                .interactive = sd_bus_message_get_allow_interactive_authorization(m) > 0,
        };

        if (request->subject.uid == 0) {
                finish(door, request, 0, &(Reason){ "" });
                return 0;
        }
        reload = malloc(sizeof(*reload));
        if (!reload)
                return -ENOMEM;
        *reload = (Reload){ door, request };
        int r = polkit_ask(auth_get_polkit(door->auth), &query, on_polkit, reload, reason);
        if (r == 0)
                reload = NULL; /* the question's now */
        return r;
}
