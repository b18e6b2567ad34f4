/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1.Manager that are about probes: read the arguments, find the caller,
 * ask the session floor, answer. Used by manager-object.c, which has the table. */
#include "bus/probe-methods.h"

#include <errno.h>
#include <string.h>

#include "bus/arguments.h"
#include "bus/call.h"
#include "door/parameter.h"
#include "door/probe-admission.h"
#include "probes/probe-batch.h"
#include "probes/probe-list.h"
#include "probes/probe-verbs.h"
#include "session/registry.h"

static int probe_methods_answer_resolved(sd_bus_message *m, Request *request) {
        return call_reply_json(m, 0, request->list, NULL);
}

int method_resolve_function(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        const char *function;
        int r;

        r = sd_bus_message_read(m, "s", &function);
        if (r < 0)
                return call_refuse(m, r, NULL);
        r = call_new(door, m, probe_methods_answer_resolved, &request, &reason);
        if (r == 0)
                r = probe_resolve_function(registry_get_probes(door->desk->registry),
                                request,
                                function,
                                &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL; /* owned by the verb now */
        return 1;
}

static int probe_methods_answer_added(sd_bus_message *m, Request *request) {
        return sd_bus_reply_method_return(m, "s", request->text);
}

int method_add_probe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_(definition_free_cleanup) Definition *definition = NULL;
        _cleanup_json_ json_object *object = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        int r;

        r = call_new(door, m, probe_methods_answer_added, &request, &reason);
        if (r == 0)
                r = arguments_read_object(m, &object, &reason);
        if (r == 0)
                r = parameter_read_definition(object, &definition, &reason);
        if (r == 0)
                r = probe_admission_add(door->desk, request, definition, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        /* The session floor owns both now. */
        definition = NULL;
        request = NULL;
        return 1;
}

static int probe_methods_answer_added_all(sd_bus_message *m, Request *request) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        char *rest, *line;

        int r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, SD_BUS_TYPE_ARRAY, "s");
        for (line = strtok_r(request->text, "\n", &rest); r >= 0 && line;
                        line = strtok_r(NULL, "\n", &rest))
                r = sd_bus_message_append(reply, "s", line);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_message_send(reply);
}

int method_add_probes(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_json_ json_object *list = NULL;
        Definition **definitions = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        size_t n = 0;
        int r;

        r = call_new(door, m, probe_methods_answer_added_all, &request, &reason);
        if (r == 0)
                r = arguments_read_objects(m, "probes", &list, &reason);
        if (r == 0)
                r = parameter_read_definitions(list, &definitions, &n, &reason);
        if (r == 0)
                r = probe_set_define_all(
                                registry_get_probes(door->desk->registry), request, definitions, n);
        if (r != 0) {
                definitions_free(definitions, n);
                return call_refuse(m, r, &reason);
        }
        /* The session floor owns them and the request now. */
        request = NULL;
        return 1;
}

int method_remove_probe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        const char *name;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return call_refuse(m, r, NULL);
        r = call_new(door, m, call_reply_empty, &request, &reason);
        if (r == 0)
                r = probe_set_undefine(
                                registry_get_probes(door->desk->registry), request, name, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}

int method_list_probes(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        int r;

        r = call_new(door, m, call_reply_list, &request, &reason);
        if (r == 0)
                r = probe_list_all(registry_get_probes(door->desk->registry), request, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}

static int probe_methods_answer_file(sd_bus_message *m, Request *request) {
        return sd_bus_reply_method_return(m, "uh", request->ticket, request->fd);
}

int method_open_probe_file(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        int r;

        r = call_new(door, m, probe_methods_answer_file, &request, &reason);
        if (r == 0)
                r = probe_open_file(registry_get_probes(door->desk->registry), request, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}
