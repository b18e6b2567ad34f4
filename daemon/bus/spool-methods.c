/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1.Manager that are about recordings on disk: read the arguments, find
 * the caller, ask the session floor, answer when the disk operation is complete. Used by
 * manager-object.c, which has the table. */
#include "bus/spool-methods.h"

#include <errno.h>
#include <string.h>

#include "bus/arguments.h"
#include "bus/call.h"
#include "door/parameter.h"
#include "session/registry.h"
#include "spool/spool-fetch.h"

int method_list_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };

        int r = call_new(door, m, call_reply_list, &request, &reason);
        if (r == 0)
                r = spool_list(registry_get_spool(door->desk->registry),
                                request,
                                desk_get_reach(call_get_peer(door, m)),
                                &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}

static int spool_methods_answer_pipe(sd_bus_message *m, Request *request) {
        return sd_bus_reply_method_return(m, "h", request->fd);
}

int method_open_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_json_ json_object *options = NULL;
        char file[PARAMETER_FILE_MAX + 1];
        Door *door = userdata;
        Reason reason = { "" };
        const char *id;

        int r = sd_bus_message_read(m, "s", &id);
        r = r < 0 ? r : arguments_read_object(m, &options, &reason);
        r = r ?: parameter_read_file(options, file, &reason);
        r = r ?: call_new(door, m, spool_methods_answer_pipe, &request, &reason);
        if (r == 0)
                r = spool_open(registry_get_spool(door->desk->registry),
                                request,
                                id,
                                file[0] ? file : NULL,
                                &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}

int method_remove_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        const char *id;

        int r = sd_bus_message_read(m, "s", &id);
        if (r < 0)
                return call_refuse(m, r, NULL);
        r = call_new(door, m, call_reply_empty, &request, &reason);
        if (r == 0)
                r = spool_remove(registry_get_spool(door->desk->registry),
                                request,
                                desk_get_reach(call_get_peer(door, m)),
                                id,
                                &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}
