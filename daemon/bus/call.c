/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What all methods have in common: a call becomes a Request, and how it went becomes the answer.
 * The one place where error codes turn into D-Bus errors and where a failure of ours is logged;
 * used by the objects beside it. Owns the message while a request is under way. */
#include "call.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "log.h"
#include "variant.h"

typedef struct Call {
        Door *door; /* NULL: gone */
        uid_t uid;
        sd_bus_message *m;
        CallAnswer answer;
        TAILQ_ENTRY(Call) calls;
} Call;

int call_refuse(sd_bus_message *m, int result, const Reason *reason) {
        const ErrorEntry *entry = error_get(result);
        const char *text = entry->text;

        if (result < 0)
                /* Ours: the caller gets no detail of it. */
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

static void message_unref_cleanup(sd_bus_message **m) {
        sd_bus_message_unref(*m);
}

int call_reply_json(sd_bus_message *m, int result, json_object *o, const Reason *reason) {
        _cleanup_(message_unref_cleanup) sd_bus_message *reply = NULL;
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
        _cleanup_(message_unref_cleanup) sd_bus_message *reply = NULL;

        int r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = variant_append_list(reply, request->list);
        return r < 0 ? call_refuse(m, r, NULL) : sd_bus_message_send(reply);
}

int call_reply_empty(sd_bus_message *m, Request *request) {
        return sd_bus_reply_method_return(m, "");
}

Request *call_free(Request *request) {
        Call *call = request ? request->userdata : NULL;

        if (call) {
                if (call->door)
                        TAILQ_REMOVE(&call->door->calls, call, calls);
                sd_bus_message_unref(call->m);
                free(call);
        }
        return request_free(request);
}

static void on_done(Request *request, int result, const Reason *reason) {
        const Call *call = request->userdata;
        int r;

        r = result == 0 ? call->answer(call->m, request) : call_refuse(call->m, result, reason);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "Cannot answer %s",
                                sd_bus_message_get_member(call->m));
        call_free(request);
}

/* Before any work is done for it. root serves itself. */
static int check_number(const Door *door, uid_t uid, Reason *reason) {
        uint64_t limit = registry_get_limits(door->registry)->max_calls_per_uid, n = 0;
        const Call *call;

        if (uid == 0)
                return 0;
        TAILQ_FOREACH(call, &door->calls, calls)
        n += call->uid == uid;
        if (n < limit)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "%" PRIu64
                        " calls of yours wait for their answer (max-calls-per-uid): wait for one of them",
                        n);
}

void call_forget_door(Door *door) {
        Call *call;

        while ((call = TAILQ_FIRST(&door->calls))) {
                TAILQ_REMOVE(&door->calls, call, calls);
                call->door = NULL;
        }
}

void call_record_polkit(Door *door,
                const Request *request,
                const char *action,
                int result,
                const Reason *said,
                const Spec *spec) {
        audit_write(registry_get_audit(door->registry),
                        &(AuditRecord){
                                        .kind = result == 0 ? AUDIT_POLKIT_ALLOWED
                                                            : AUDIT_POLKIT_DENIED,
                                        .uid = request->subject.uid,
                                        .rule = request->wanted ? request->wanted->rule : NULL,
                                        .text = result == 0 ? action : said->text,
                                        .spec = spec,
                        });
}

SessionReach call_get_reach(const Peer *peer) {
        return peer->is_administrator ? REACH_ALL : REACH_OWN;
}

int call_renew_subject(Door *door, Request *request) {
        const Peer *peer = auth_find_peer(door->auth, request->peer);
        Subject subject;

        if (!peer)
                return KT_E_CANCELLED;
        int r = subject_copy(&subject, &peer->subject);
        if (r < 0)
                return r;
        subject_clear(&request->subject);
        request->subject = subject;
        return 0;
}

int call_new(Door *door, sd_bus_message *m, CallAnswer answer, Request **ret, Reason *reason) {
        _cleanup_(call_free_cleanup) Request *request = NULL;
        const Peer *peer = auth_get_peer(door->auth, m);

        if (!peer)
                return KT_E_ACCESS_DENIED;
        int r = check_number(door, peer->subject.uid, reason);
        if (r != 0)
                return r;
        request = request_new(&peer->subject, peer->unique_name);
        if (!request)
                return -ENOMEM;
        Call *call = calloc(1, sizeof(*call));
        if (!call)
                return -ENOMEM;
        call->door = door;
        call->uid = peer->subject.uid;
        TAILQ_INSERT_TAIL(&door->calls, call, calls);
        call->m = sd_bus_message_ref(m);
        call->answer = answer;
        request->userdata = call;
        request->done = on_done;
        request->is_administrator = peer->is_administrator;
        request->caller = (Caller){ peer->pid, peer->start };

        *ret = TAKE_PTR(request);
        return 0;
}

int call_read_flag(sd_bus_message *m, const char *key, bool *ret, Reason *reason) {
        const char *found, *type;
        int r, value;

        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        while (r >= 0 &&
                        (r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = sd_bus_message_read(m, "s", &found);
                if (r >= 0 && strcmp(found, key) != 0)
                        return reason_set(reason,
                                        KT_E_UNKNOWN_KEY,
                                        "%.64s: no such option: there is %s",
                                        found,
                                        key);
                r = r < 0 ? r : sd_bus_message_peek_type(m, NULL, &type);
                if (r > 0 && strcmp(type, "b") != 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: true or false is wanted",
                                        key);
                r = r < 0 ? r : sd_bus_message_read(m, "v", "b", &value);
                if (r < 0)
                        return r;
                *ret = value;
                r = sd_bus_message_exit_container(m);
        }
        return MIN_OF(r, 0);
}

int call_read_no_options(sd_bus_message *m, Reason *reason) {
        const char *key;
        int r;

        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv");
        if (r <= 0)
                return r;
        r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        return reason_set(
                        reason, KT_E_UNKNOWN_KEY, "%.64s: no such option; there are none yet", key);
}
