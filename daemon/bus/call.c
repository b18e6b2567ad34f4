/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns the result of a call into its answer, for all methods. The only place that maps error codes
 * to D-Bus errors and that logs internal failures of these methods. Used by the objects of this
 * folder. Owns the message while a request is open (door/waiting.c). */
#include "bus/call.h"

#include <errno.h>

#include "base/log.h"
#include "bus/variant.h"

typedef struct Call {
        Waiting waiting; /* must be the first member */
        sd_bus_message *m;
        CallAnswer answer;
} Call;

int call_refuse(sd_bus_message *m, int result, const Reason *reason) {
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

static void call_message_unref_cleanup(sd_bus_message **m) {
        sd_bus_message_unref(*m);
}

int call_reply_json(sd_bus_message *m, int result, json_object *o, const Reason *reason) {
        _cleanup_(call_message_unref_cleanup) sd_bus_message *reply = NULL;
        int r = result;

        if (r == 0)
                r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0 && result == 0)
                r = variant_append_object(reply, o);
        if (r != 0)
                return call_refuse(m, r, reason);
        return sd_bus_message_send(reply);
}

int call_reply_list(sd_bus_message *m, Request *request) {
        _cleanup_(call_message_unref_cleanup) sd_bus_message *reply = NULL;

        int r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = variant_append_list(reply, request->list);
        return r < 0 ? call_refuse(m, r, NULL) : sd_bus_message_send(reply);
}

int call_reply_empty(sd_bus_message *m, Request *request) {
        return sd_bus_reply_method_return(m, "");
}

static void call_answer(Waiting *waiting, Request *request, int result, const Reason *reason) {
        Call *call = (Call *)waiting;
        int r;

        r = result == 0 ? call->answer(call->m, request) : call_refuse(call->m, result, reason);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "Cannot answer %s",
                                sd_bus_message_get_member(call->m));
}

static void call_free(Waiting *waiting) {
        Call *call = (Call *)waiting;

        sd_bus_message_unref(call->m);
        free(call);
}

int call_new(Door *door, sd_bus_message *m, CallAnswer answer, Request **ret, Reason *reason) {
        Call *call = calloc(1, sizeof(*call));

        if (!call)
                return -ENOMEM;
        call->m = sd_bus_message_ref(m);
        call->answer = answer;
        call->waiting.may_prompt = sd_bus_message_get_allow_interactive_authorization(m) > 0;
        call->waiting.answer = call_answer;
        call->waiting.free = call_free;
        return waiting_new(door->desk, call_get_peer(door, m), &call->waiting, ret, reason);
}
