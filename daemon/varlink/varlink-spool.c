/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1 that are about recordings on disk: read the parameters, find the
 * caller, ask the session floor, answer when the disk operation is complete. */
#include "varlink/varlink-spool.h"

#include <errno.h>

#include "door/parameter.h"
#include "session/registry.h"
#include "spool/spool-fetch.h"
#include "varlink/methods.h"
#include "varlink/reply.h"
#include "varlink/varlink-door.h"

static SessionReach get_reach(const VarlinkDoor *door, VarlinkCall *call) {
        const Peer *peer = visitor_get_peer(door, call);

        return peer ? desk_get_reach(peer) : REACH_OWN;
}

static void varlink_spool_answer_list(VarlinkCall *call, Request *request) {
        reply_value(call, "recordings", TAKE_PTR(request->list));
}

void varlink_list_spool(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(door, call, parameters, varlink_spool_answer_list, &request, &reason);
        r = r
                            ?: spool_list(registry_get_spool(door->desk->registry),
                                               request,
                                               get_reach(door, call),
                                               &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL;
}

static void varlink_spool_answer_pipe(VarlinkCall *call, Request *request) {
        reply_fd(call, "pipe", TAKE_FD(request->fd));
}

void varlink_open_spool(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        char file[PARAMETER_FILE_MAX + 1];
        Reason reason = { "" };

        int r = parameter_read_file(json_object_object_get(parameters, "options"), file, &reason);
        r = r ?: reply_later(door, call, parameters, varlink_spool_answer_pipe, &request, &reason);
        r = r
                            ?: spool_open(registry_get_spool(door->desk->registry),
                                               request,
                                               methods_get_text(parameters, "id"),
                                               *file ? file : NULL,
                                               &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL;
}

void varlink_remove_spool(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(door, call, parameters, reply_with_nothing, &request, &reason);
        r = r
                            ?: spool_remove(registry_get_spool(door->desk->registry),
                                               request,
                                               get_reach(door, call),
                                               methods_get_text(parameters, "id"),
                                               &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL;
}
