/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1 that are about probes: read the parameters, find the caller, ask the
 * session floor, answer. */
#include "varlink/varlink-probes.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "door/probe-admission.h"
#include "interfaces/spec-json.h"
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

static int varlink_probes_read_file(json_object *object, uint32_t *ret, Reason *reason) {
        json_object *value;

        if (!json_object_object_get_ex(object, "file", &value))
                return 0;
        int64_t number = json_object_is_type(value, json_type_int) ? json_object_get_int64(value)
                                                                   : 0;
        if (number <= 0 || number > UINT32_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: expected the number that OpenProbeFile returned, got %s",
                                json_object_is_type(value, json_type_int)
                                                ? json_object_get_string(value)
                                                : spec_json_type(value));
        *ret = (uint32_t)number;
        json_object_object_del(object, "file");
        return 0;
}

/* Reads the keys of a catalogue's definition and the file descriptor, which a catalogue does not
 * have. */
static int read_definition(json_object *object, Definition **ret, Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *definition = NULL;
        uint32_t file = 0;

        int r = varlink_probes_read_file(object, &file, reason);
        r = r ?: definition_from_json(object, &definition, reason);
        if (r == 0 && file > 0) {
                r = definition_set_number(definition, "file", file, reason);
                r = r ?: definition_complete(definition, reason);
        }
        if (r == 0)
                *ret = TAKE_PTR(definition);
        return r;
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
                r = read_definition(json_object_object_get(parameters, "definition"),
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

/* Reads each definition of the list; the checks are those of AddProbe. */
static int varlink_probes_read_definitions(json_object *list,
                Definition ***ret,
                size_t *ret_n,
                Reason *reason) {
        size_t n_wanted = json_object_array_length(list), n = 0;

        if (n_wanted > DEFINITIONS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes[%d]: more than %d in one call",
                                DEFINITIONS_MAX,
                                DEFINITIONS_MAX);
        Definition **definitions = calloc(n_wanted + 1, sizeof(Definition *));
        int r = definitions ? 0 : -ENOMEM;

        while (r == 0 && n < n_wanted) {
                json_object *object = json_object_array_get_idx(list, n);
                Reason inner = { "" };

                if (json_object_is_type(object, json_type_object))
                        r = read_definition(object, &definitions[n], &inner);
                else
                        r = reason_set(&inner,
                                        KT_E_INVALID_SPEC,
                                        "expected an object, got %s",
                                        spec_json_type(object));
                if (r > 0)
                        r = reason_set(reason, r, "probes[%zu]: %s", n, inner.text);
                n += r == 0;
        }
        if (r != 0) {
                definitions_free(definitions, n);
                return r;
        }
        *ret = definitions;
        *ret_n = n;
        return 0;
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
                r = varlink_probes_read_definitions(
                                json_object_object_get(parameters, "definitions"),
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
