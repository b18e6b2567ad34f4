/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns the result of a call into its answer, for all methods. The only place that maps error codes
 * to Varlink errors, which have the same names as on the bus, and that logs internal failures of
 * these methods. Used by the method files of this folder. */
#include "varlink/reply.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "varlink/connection.h"
#include "varlink/varlink-call.h"
#include "varlink/varlink-door.h"

void reply_refuse(VarlinkCall *call, int result, const Reason *reason) {
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

void reply_value(VarlinkCall *call, const char *key, json_object *value) {
        _cleanup_json_ json_object *answer = json_object_new_object();

        if (answer && value && json_object_object_add(answer, key, value) == 0) {
                varlink_call_reply(call, answer, -1);
                return;
        }
        json_object_put(value);
        reply_refuse(call, -ENOMEM, NULL);
}

void reply_result(VarlinkCall *call,
                int result,
                const char *key,
                json_object *value,
                const Reason *reason) {
        if (result == 0) {
                reply_value(call, key, value);
                return;
        }
        json_object_put(value);
        reply_refuse(call, result, reason);
}

void reply_fd(VarlinkCall *call, const char *key, int fd) {
        _cleanup_json_ json_object *answer = json_object_new_object();
        json_object *index = json_object_new_int(0);

        if (answer && index && json_object_object_add(answer, key, index) == 0) {
                varlink_call_reply(call, answer, fd);
                return;
        }
        json_object_put(index);
        close_cleanup(&fd);
        reply_refuse(call, -ENOMEM, NULL);
}

void reply_empty(VarlinkCall *call) {
        varlink_call_reply(call, NULL, -1);
}

void reply_with_nothing(VarlinkCall *call, Request *request _unused_) {
        reply_empty(call);
}

typedef struct Later {
        Waiting waiting; /* must be the first member */
        VarlinkCall *call;
        Reply reply;
} Later;

static void later_answer(Waiting *waiting, Request *request, int result, const Reason *reason) {
        Later *later = (Later *)waiting;
        VarlinkCall *call = TAKE_PTR(later->call);

        if (result == 0)
                later->reply(call, request);
        else
                reply_refuse(call, result, reason);
}

static void later_free(Waiting *waiting) {
        free((Later *)waiting);
}

int reply_later(VarlinkDoor *door,
                VarlinkCall *call,
                json_object *parameters,
                Reply reply,
                Request **ret,
                Reason *reason) {
        json_object *may_prompt =
                        json_object_object_get(parameters, "allowInteractiveAuthentication");
        Later *later = calloc(1, sizeof(*later));

        if (!later)
                return -ENOMEM;
        later->call = call;
        later->reply = reply;
        later->waiting.may_prompt = json_object_get_boolean(may_prompt);
        later->waiting.answer = later_answer;
        later->waiting.free = later_free;
        return waiting_new(door->desk, visitor_get_peer(door, call), &later->waiting, ret, reason);
}
