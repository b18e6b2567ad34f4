/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes each call of a method to its verb, and sends the result. The only place that maps error
 * codes to Varlink errors, which have the same names as on the bus, and that logs internal failures
 * of methods. Used by varlink-door.c. */
#include "varlink/answer.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "door/method.h"
#include "varlink/connection.h"
#include "varlink/varlink-call.h"

typedef struct Answer {
        MethodCall method; /* must be the first member */
        VarlinkDoor *door;
        VarlinkCall *call; /* NULL: answered */
} Answer;

static void answer_refuse(VarlinkCall *call, int result, const Reason *reason) {
        const ErrorEntry *entry = error_get(result);
        const VarlinkConnection *connection = varlink_call_get_connection(call);
        const char *text = entry->text;
        char name[128];

        if (result < 0)
                /* An internal failure: the details go to the log, not to the caller. */
                log_errno(result,
                                LOG_ERR,
                                NULL,
                                "a Varlink call of uid %u",
                                connection ? varlink_connection_get_uid(connection) : (uid_t)-1);
        else if (reason && *reason->text)
                text = reason->text;
        snprintf(name,
                        sizeof(name),
                        KT_VARLINK_INTERFACE ".%s",
                        entry->bus_name + strlen(KT_ERROR_PREFIX));
        varlink_call_error_with(call, name, "reason", text);
}

static void answer_on_refuse(MethodCall *method, int result, const Reason *reason) {
        answer_refuse(TAKE_PTR(((Answer *)method)->call), result, reason);
}

static void answer_on_reply(MethodCall *method, json_object *result, int fd) {
        Answer *answer = (Answer *)method;
        VarlinkCall *call = TAKE_PTR(answer->call);

        if (!method->method->is_subscription)
                varlink_call_reply(call, result, fd);
        else if (!method->method->is_of_session)
                visitor_watch(call);
        else if (!visitor_subscribe(answer->door, call, method->session))
                answer_refuse(call, -ENOMEM, NULL);
}

static void answer_on_free(MethodCall *method) {
        free((Answer *)method);
}

void answer_on_call(VarlinkCall *call, json_object *parameters, void *userdata) {
        static const MethodDoor operations = { answer_on_reply, answer_on_refuse, answer_on_free };
        Answer *answer = calloc(1, sizeof(*answer));
        VarlinkDoor *door = userdata;

        if (!answer) {
                answer_refuse(call, -ENOMEM, NULL);
                return;
        }
        answer->method.door = &operations;
        answer->method.method = varlink_call_get_method(call)->data;
        answer->method.desk = door->desk;
        answer->door = door;
        answer->call = call;
        method_call_run(&answer->method, visitor_get_peer(door, call), parameters);
}
