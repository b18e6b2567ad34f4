/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Maps the method of a message to its handler: checks the call against the tables of the
 * interfaces, and answers org.varlink.service, which every Varlink service has. Called by the
 * connection for one call at a time. Handlers get only parameters that their table allows. */

#include "varlink/service.h"

#include <string.h>

#include "interfaces/json.h"
#include "interfaces/varlink-message.h"
#include "varlink/connection.h"
#include "varlink/varlink-call.h"

static bool service_add_string(json_object *object, const char *key, const char *text) {
        json_object *value = object ? json_object_new_string(text) : NULL;

        if (value && json_object_object_add(object, key, value) == 0)
                return true;
        json_object_put(value);
        return false;
}

static json_object *list_interfaces(const VarlinkOptions *options) {
        json_object *list = json_object_new_array();

        if (list)
                (void)json_object_array_add(list, json_object_new_string(VARLINK_SERVICE));
        for (size_t i = 0; list && i < options->n_interfaces; i++)
                (void)json_object_array_add(
                                list, json_object_new_string(options->interfaces[i].name));
        return list;
}

static void get_info(VarlinkCall *call, json_object *parameters, void *userdata) {
        const VarlinkOptions *options = &((VarlinkServer *)userdata)->options;
        _cleanup_json_ json_object *info = json_object_new_object();

        if (service_add_string(info, "vendor", options->vendor) &&
                        service_add_string(info, "product", options->product) &&
                        service_add_string(info, "version", options->version) &&
                        service_add_string(info, "url", options->url))
                (void)json_object_object_add(info, "interfaces", list_interfaces(options));
        varlink_call_reply(call, info, -1);
}

static const VarlinkInterface *find_interface(const VarlinkServer *server,
                const char *name,
                size_t length);

static void get_description(VarlinkCall *call, json_object *parameters, void *userdata) {
        const char *name = json_object_get_string(json_object_object_get(parameters, "interface"));
        const VarlinkInterface *interface = find_interface(userdata, name, strlen(name));
        _cleanup_json_ json_object *answer = NULL;

        if (!interface) {
                varlink_call_error_with(call,
                                VARLINK_SERVICE_ERROR("InterfaceNotFound"),
                                "interface",
                                name);
                return;
        }
        answer = json_object_new_object();
        (void)service_add_string(answer, "description", interface->description);
        varlink_call_reply(call, answer, -1);
}

static const VarlinkMethod service_methods[] = {
        { .name = "GetInfo", .handler = get_info },
        { .name = "GetInterfaceDescription",
                        .handler = get_description,
                        .parameters = (const VarlinkParameter[]){ { "interface", json_type_string },
                                        {} } },
};

static const VarlinkInterface service_interface = {
        .name = VARLINK_SERVICE,
        .description = varlink_service_description,
        .methods = service_methods,
        .n_methods = ELEMENTSOF(service_methods),
};

static bool service_is_named(const char *name, const char *text, size_t length) {
        return strncmp(name, text, length) == 0 && name[length] == '\0';
}

static const VarlinkInterface *find_interface(const VarlinkServer *server,
                const char *name,
                size_t length) {
        if (service_is_named(VARLINK_SERVICE, name, length))
                return &service_interface;
        for (size_t i = 0; i < server->options.n_interfaces; i++)
                if (service_is_named(server->options.interfaces[i].name, name, length))
                        return &server->options.interfaces[i];
        return NULL;
}

static const VarlinkMethod *find_method(const VarlinkInterface *interface, const char *name) {
        for (size_t i = 0; i < interface->n_methods; i++)
                if (strcmp(interface->methods[i].name, name) == 0)
                        return &interface->methods[i];
        return NULL;
}

static bool service_is_taken(const VarlinkParameter *parameter, json_object *value) {
        if (!value)
                return parameter->is_optional;
        return json_object_is_type(value, parameter->type) ||
               (parameter->type == json_type_double && json_object_is_type(value, json_type_int));
}

static const VarlinkParameter *find_parameter(const VarlinkMethod *method, const char *name) {
        for (const VarlinkParameter *p = method->parameters; p && p->name; p++)
                if (strcmp(p->name, name) == 0)
                        return p;
        return NULL;
}

/* Returns the first parameter that does not match the table, or NULL. */
static const char *find_wrong(const VarlinkMethod *method, json_object *parameters) {
        json_object_object_foreach(parameters, key, value) {
                (void)value;
                if (!find_parameter(method, key))
                        return key;
        }
        for (const VarlinkParameter *p = method->parameters; p && p->name; p++)
                if (!service_is_taken(p, json_object_object_get(parameters, p->name)))
                        return p->name;
        return NULL;
}

static void service_handle(VarlinkServer *server,
                VarlinkCall *call,
                const VarlinkMethod *method,
                json_object *parameters) {
        _cleanup_json_ json_object *all =
                        parameters ? json_object_get(parameters) : json_object_new_object();
        if (!all) {
                varlink_connection_break(call->connection, "no memory for a call");
                varlink_call_reply(call, NULL, -1);
                return;
        }
        bool is_ours = method >= service_methods &&
                       method < service_methods + ELEMENTSOF(service_methods);
        const char *wrong = find_wrong(method, all);

        call->method = method;
        if (wrong)
                varlink_call_refuse_parameter(call, wrong);
        else if (method->needs_more && !call->more)
                varlink_call_error(call, VARLINK_SERVICE_ERROR("ExpectedMore"), NULL);
        else
                method->handler(call, all, is_ours ? server : server->options.userdata);
}

void varlink_service_dispatch(VarlinkServer *server,
                VarlinkCall *call,
                const char *method,
                json_object *parameters) {
        const char *dot = strrchr(method, '.');
        const VarlinkInterface *interface = find_interface(server, method, (size_t)(dot - method));
        const VarlinkMethod *found = interface ? find_method(interface, dot + 1) : NULL;

        if (!interface) {
                _cleanup_free_ char *name = strndup(method, (size_t)(dot - method));

                varlink_call_error_with(call,
                                VARLINK_SERVICE_ERROR("InterfaceNotFound"),
                                "interface",
                                name ?: "");
        } else if (!found) {
                varlink_call_error_with(
                                call, VARLINK_SERVICE_ERROR("MethodNotFound"), "method", method);
        } else if (!found->handler) {
                varlink_call_error_with(call,
                                VARLINK_SERVICE_ERROR("MethodNotImplemented"),
                                "method",
                                method);
        } else
                service_handle(server, call, found, parameters);
}
