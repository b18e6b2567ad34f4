/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of the table of methods that are about probes: read the parameters and ask the probes
 * floor. */
#include "door/probe-verb.h"

#include "door/parameter.h"
#include "door/probe-admission.h"
#include "probes/probe-batch.h"
#include "probes/probe-list.h"
#include "probes/probe-verbs.h"
#include "session/registry.h"

static ProbeSet *probe_verb_get_set(const MethodCall *call) {
        return registry_get_probes(call->desk->registry);
}

int verb_resolve_function(MethodCall *call, Reason *reason) {
        const char *function = method_call_get_text(call, "function");

        int r = method_call_wait(call, reason);
        return r
                               ?: probe_resolve_function(probe_verb_get_set(call),
                                                  call->request,
                                                  function,
                                                  reason);
}

int verb_open_probe_file(MethodCall *call, Reason *reason) {
        int r = method_call_wait(call, reason);

        return r ?: probe_open_file(probe_verb_get_set(call), call->request, reason);
}

int verb_add_probe(MethodCall *call, Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *definition = NULL;
        json_object *object = method_call_get(call, "definition");

        int r = method_call_wait(call, reason);
        r = r ?: parameter_read_definition(object, &definition, reason);
        r = r ?: probe_admission_add(call->desk, call->request, definition, reason);
        if (r == 0)
                definition = NULL; /* the session floor owns it now */
        return r;
}

int verb_add_probes(MethodCall *call, Reason *reason) {
        json_object *list = method_call_get(call, "definitions");
        Definition **definitions = NULL;
        size_t n = 0;

        int r = method_call_wait(call, reason);
        r = r ?: parameter_read_definitions(list, &definitions, &n, reason);
        r = r ?: probe_set_define_all(probe_verb_get_set(call), call->request, definitions, n);
        if (r != 0)
                definitions_free(definitions, n);
        return r;
}

int verb_remove_probe(MethodCall *call, Reason *reason) {
        const char *name = method_call_get_text(call, "name");

        int r = method_call_wait(call, reason);
        return r ?: probe_set_undefine(probe_verb_get_set(call), call->request, name, reason);
}

int verb_list_probes(MethodCall *call, Reason *reason) {
        int r = method_call_wait(call, reason);

        return r ?: probe_list_all(probe_verb_get_set(call), call->request, reason);
}
