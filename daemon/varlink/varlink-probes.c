/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1 that are about probes: read the parameters, find the caller, ask the
 * session floor, answer. */
#include "varlink/varlink-probes.h"

#include <errno.h>
#include <string.h>

#include "door/parameter.h"
#include "door/probe-admission.h"
#include "probes/probe-batch.h"
#include "probes/probe-list.h"
#include "probes/probe-verbs.h"
#include "session/registry.h"
#include "varlink/methods.h"
#include "varlink/reply.h"
#include "varlink/varlink-call.h"
#include "varlink/varlink-door.h"

static void varlink_probes_answer_resolved(VarlinkCall *call, Request *request) {
        reply_value(call, "description", json_object_get(request->list));
}

void varlink_resolve_function(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(
                        door, call, parameters, varlink_probes_answer_resolved, &request, &reason);
        r = r
                            ?: probe_resolve_function(registry_get_probes(door->desk->registry),
                                               request,
                                               methods_get_text(parameters, "function"),
                                               &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL; /* owned by the verb now */
}

static void varlink_probes_answer_added(VarlinkCall *call, Request *request) {
        reply_value(call, "event", json_object_new_string(request->text));
}

void varlink_add_probe(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_(definition_free_cleanup) Definition *definition = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(door, call, parameters, varlink_probes_answer_added, &request, &reason);
        if (r == 0)
                r = parameter_read_definition(json_object_object_get(parameters, "definition"),
                                &definition,
                                &reason);
        r = r ?: probe_admission_add(door->desk, request, definition, &reason);
        if (r != 0) {
                reply_refuse(call, r, &reason);
                return;
        }
        /* The session floor owns both now. */
        definition = NULL;
        request = NULL;
}

static void varlink_probes_answer_added_all(VarlinkCall *call, Request *request) {
        _cleanup_json_ json_object *events = json_object_new_array();
        char *rest, *line;

        for (line = strtok_r(request->text, "\n", &rest); events && line;
                        line = strtok_r(NULL, "\n", &rest)) {
                json_object *name = json_object_new_string(line);

                if (!name || json_object_array_add(events, name) < 0) {
                        json_object_put(name);
                        events = json_put_free(events);
                }
        }
        reply_value(call, "events", TAKE_PTR(events));
}

void varlink_add_probes(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Definition **definitions = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };
        size_t n = 0;

        int r = reply_later(
                        door, call, parameters, varlink_probes_answer_added_all, &request, &reason);
        if (r == 0)
                r = parameter_read_definitions(json_object_object_get(parameters, "definitions"),
                                &definitions,
                                &n,
                                &reason);
        r = r
                            ?: probe_set_define_all(registry_get_probes(door->desk->registry),
                                               request,
                                               definitions,
                                               n);
        if (r != 0) {
                definitions_free(definitions, n);
                reply_refuse(call, r, &reason);
                return;
        }
        /* The session floor owns them and the request now. */
        request = NULL;
}

void varlink_remove_probe(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(door, call, parameters, reply_with_nothing, &request, &reason);
        if (r == 0)
                r = probe_set_undefine(registry_get_probes(door->desk->registry),
                                request,
                                methods_get_text(parameters, "name"),
                                &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL;
}

static void varlink_probes_answer_list(VarlinkCall *call, Request *request) {
        reply_value(call, "probes", json_object_get(request->list));
}

void varlink_list_probes(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(door, call, parameters, varlink_probes_answer_list, &request, &reason);
        r = r ?: probe_list_all(registry_get_probes(door->desk->registry), request, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL;
}

static void varlink_probes_answer_file(VarlinkCall *call, Request *request) {
        _cleanup_json_ json_object *answer = json_object_new_object();
        json_object *file = json_object_new_int64(request->ticket);
        json_object *index = json_object_new_int(0);

        if (!answer || !file || json_object_object_add(answer, "file", file) < 0)
                json_object_put(file);
        if (!answer || !index || json_object_object_add(answer, "socket", index) < 0)
                json_object_put(index);
        if (answer && json_object_object_length(answer) == 2)
                varlink_call_reply(call, answer, TAKE_FD(request->fd));
        else
                reply_refuse(call, -ENOMEM, NULL);
}

void varlink_open_probe_file(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(door, call, parameters, varlink_probes_answer_file, &request, &reason);
        r = r ?: probe_open_file(registry_get_probes(door->desk->registry), request, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL;
}
