/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Translates each call of a method: the message to JSON for the method's verb, and its result to a
 * message. The only place that maps error codes to D-Bus errors and that logs internal failures of
 * methods. Owns the message until the call is answered. */
#include "bus/call.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "bus/arguments.h"
#include "bus/result.h"

typedef struct Call {
        MethodCall method; /* must be the first member */
        sd_bus_message *m;
} Call;

static int call_refuse(sd_bus_message *m, int result, const Reason *reason) {
        const ErrorEntry *entry = error_get(result);
        const char *text = entry->text;

        if (result < 0)
                /* An internal failure: the details go to the log, not to the caller. */
                log_errno(result,
                                LOG_ERR,
                                NULL,
                                "%s for %s",
                                sd_bus_message_get_member(m),
                                sd_bus_message_get_sender(m));
        else if (reason && *reason->text)
                text = reason->text;
        return sd_bus_reply_method_errorf(m, entry->bus_name, "%s", text);
}

static int call_send_result(sd_bus_message *m, const Method *method, json_object *result, int fd) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        int r = sd_bus_message_new_method_return(m, &reply);
        r = r < 0 ? r : result_append(reply, method, result, fd);
        return r < 0 ? call_refuse(m, r, NULL) : sd_bus_message_send(reply);
}

static void call_check_sent(sd_bus_message *m, int result) {
        if (result < 0)
                log_errno(result,
                                LOG_WARNING,
                                NULL,
                                "Cannot answer %s",
                                sd_bus_message_get_member(m));
}

static void call_on_reply(MethodCall *call, json_object *result, int fd) {
        _cleanup_close_ int owned = fd; /* the message has a duplicate */
        sd_bus_message *m = ((Call *)call)->m;

        call_check_sent(m, call_send_result(m, call->method, result, owned));
}

static void call_on_refuse(MethodCall *call, int result, const Reason *reason) {
        sd_bus_message *m = ((Call *)call)->m;

        call_check_sent(m, call_refuse(m, result, reason));
}

static void call_on_free(MethodCall *call) {
        sd_bus_message_unref(((Call *)call)->m);
        free(call);
}

/* The names of methods are unique in the table, over all interfaces. */
static const Method *call_find_method(const Door *door, sd_bus_message *m) {
        const Method *method = door->desk->methods;

        while (method->name && strcmp(method->name, sd_bus_message_get_member(m)) != 0)
                method++;
        return method;
}

int call_on_method(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        static const MethodDoor operations = { call_on_reply, call_on_refuse, call_on_free };
        _cleanup_json_ json_object *parameters = NULL;
        Door *door = userdata;
        const Method *method = call_find_method(door, m);
        Reason reason = { "" };

        int r = arguments_read(m, method, &parameters, &reason);
        Call *call = r == 0 ? calloc(1, sizeof(*call)) : NULL;
        if (!call)
                return call_refuse(m, r ?: -ENOMEM, &reason);
        call->method.door = &operations;
        call->method.method = method;
        call->method.desk = door->desk;
        call->m = sd_bus_message_ref(m);
        method_call_run(&call->method, call_get_peer(door, m), parameters);
        return 1;
}
