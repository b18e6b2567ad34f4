/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns an error of a Varlink service or of its connection into one line that names the socket and
 * says what to do. Used by proxy-varlink.c and proxy-varlink-signal.c. */

#include "call/proxy-varlink-error.h"

#include <errno.h>
#include <string.h>

#include "call/proxy-varlink.h"

#define LOG_HINT       "'journalctl -u ktraced' shows why"
#define OWN_PREFIX     KT_BUS_NAME "."
#define SERVICE_PREFIX "org.varlink.service."

static int refuse_connection(const char *path, int r, Reason *reason) {
        const char *hint = r == -ENOENT || r == -ECONNREFUSED
                                           ? "start it with 'systemctl start ktraced.socket'"
                           : r == -EAGAIN || r == -ETIMEDOUT
                                           ? "it does not take connections, " LOG_HINT
                                           : "is that its socket?";

        return reason_set(reason,
                        KT_E_FAILED,
                        "cannot reach ktraced at %s: %s; %s; KTRACE_VARLINK_ADDRESS=unix:PATH "
                        "names another socket",
                        path,
                        strerror(-r),
                        hint);
}

/* Refuses an answer that the client cannot use. */
static int refuse_answer(const char *path, const char *method, int r, Reason *reason) {
        switch (r) {
        case -EBADMSG:
                return reason_set(reason,
                                KT_E_FAILED,
                                "the reply of %s to %s is not a JSON object; is ktraced "
                                "listening there?",
                                path,
                                method);
        case -EPROTO:
                return reason_set(reason,
                                KT_E_FAILED,
                                "the reply of %s to %s is not a Varlink reply; is ktraced "
                                "listening there, and of this version?",
                                path,
                                method);
        case -ENOMSG:
                return reason_set(reason,
                                KT_E_FAILED,
                                "the reply of ktraced at %s to %s has a type that ktracectl "
                                "does not know; restart ktraced after an upgrade",
                                path,
                                method);
        case -EBADF:
                return reason_set(reason,
                                KT_E_FAILED,
                                "the reply of %s to %s lacks its descriptor; restart ktraced "
                                "after an upgrade",
                                path,
                                method);
        case -EMFILE:
                return reason_set(reason,
                                KT_E_FAILED,
                                "no room for the descriptor that %s sent in its reply to %s; "
                                "'ulimit -n' shows how many are allowed",
                                path,
                                method);
        default:
                return reason_set(
                                reason, KT_E_FAILED, "%s, over %s: %s", method, path, strerror(-r));
        }
}

int proxy_varlink_refuse(const char *path, const char *method, int r, Reason *reason) {
        if (!method)
                return refuse_connection(path, r, reason);
        switch (r) {
        case -ECONNRESET:
        case -EPIPE:
                return reason_set(reason,
                                KT_E_FAILED,
                                "ktraced at %s closed the connection without a reply to %s; it "
                                "may have ended, " LOG_HINT,
                                path,
                                method);
        case -ETIMEDOUT:
                return reason_set(reason,
                                -ETIMEDOUT,
                                "ktraced at %s did not answer %s in time; " LOG_HINT,
                                path,
                                method);
        case -ENOTCONN:
                return reason_set(reason,
                                KT_E_FAILED,
                                "ktraced at %s closed the connection before %s was sent; " LOG_HINT,
                                path,
                                method);
        case -EMSGSIZE:
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: over %s a message has at most %zu MB; ask for less, or use "
                                "the bus",
                                method,
                                path,
                                VARLINK_LINK_MESSAGE_MAX >> 20);
        default:
                return refuse_answer(path, method, r, reason);
        }
}

static const char *proxy_varlink_error_get_text(json_object *parameters, const char *key) {
        json_object *value = json_object_object_get(parameters, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* Finds an error of ktraced. Its name after the interface is the name after the prefix on D-Bus. */
static const ErrorEntry *proxy_varlink_error_find_own(const char *error) {
        char name[128];

        if (strncmp(error, OWN_PREFIX, strlen(OWN_PREFIX)) != 0)
                return NULL;
        int n = snprintf(name, sizeof(name), "%s%s", KT_ERROR_PREFIX, error + strlen(OWN_PREFIX));
        return n < (int)sizeof(name) ? error_find_by_bus_name(name) : NULL;
}

static int judge_service(const char *path,
                const char *method,
                const char *name,
                json_object *parameters,
                Reason *reason) {
        if (strcmp(name, "PermissionDenied") == 0)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "ktraced at %s does not let this process call %s",
                                path,
                                method);
        if (strcmp(name, "InvalidParameter") == 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "ktraced at %s does not take this %s of %s; is it of another "
                                "version than ktracectl? restart it after an upgrade",
                                path,
                                proxy_varlink_error_get_text(parameters, "parameter"),
                                method);
        return reason_set(reason,
                        KT_E_FAILED,
                        "ktraced at %s is of another version than ktracectl (%s: %s); restart it "
                        "after an upgrade",
                        path,
                        method,
                        name);
}

int proxy_varlink_judge(const char *path,
                const char *method,
                const char *error,
                json_object *parameters,
                Reason *reason) {
        const char *said = proxy_varlink_error_get_text(parameters, "reason");
        const ErrorEntry *entry = proxy_varlink_error_find_own(error);

        if (entry)
                return reason_set(reason, entry->code, "%s", *said ? said : entry->text);
        if (strncmp(error, SERVICE_PREFIX, strlen(SERVICE_PREFIX)) == 0)
                return judge_service(
                                path, method, error + strlen(SERVICE_PREFIX), parameters, reason);
        return reason_set(reason,
                        KT_E_FAILED,
                        "ktraced at %s replied %s to %s%s%s",
                        path,
                        error,
                        method,
                        *said ? ": " : "",
                        said);
}

int proxy_varlink_read(const char *path,
                const char *method,
                json_object *reply,
                json_object **ret_parameters,
                bool *ret_continues,
                int *ret_code,
                Reason *reason) {
        json_object *parameters = json_object_object_get(reply, "parameters"),
                    *continues = json_object_object_get(reply, "continues"),
                    *error = json_object_object_get(reply, "error");

        if ((parameters && !json_object_is_type(parameters, json_type_object)) ||
                        (continues && !json_object_is_type(continues, json_type_boolean)) ||
                        (error && !json_object_is_type(error, json_type_string)))
                return -EPROTO;
        *ret_continues = continues && json_object_get_boolean(continues);
        *ret_parameters = parameters;
        if (!error)
                return 0;
        *ret_code = proxy_varlink_judge(
                        path, method, json_object_get_string(error), parameters, reason);
        return *ret_continues ? -EPROTO : 1;
}
