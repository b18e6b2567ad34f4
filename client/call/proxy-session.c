/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Session calls whose answers have more than one value: create a session, check a spec, list and
 * find sessions. The answers get the same form for both backends. Part of proxy.c. */

#include "call/proxy-session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "call/proxy-backend.h"
#include "call/proxy.h"

int proxy_make_path(const char *session, char **ret) {
        if (asprintf(ret, "%s/%s", KT_SESSION_PREFIX, session) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

int proxy_create(Proxy *proxy, json_object *spec, char **ret_id, Reason *reason) {
        _cleanup_json_ json_object *arguments = NULL, *answer = NULL;
        _cleanup_free_ char *id = NULL;
        int r = proxy_make_object("spec", json_object_get(spec), &arguments);

        r = r ?: proxy_call(proxy, NULL, "CreateSession", arguments, &answer, reason);
        if (r != 0)
                return r;
        json_object *value = json_object_object_get(answer, "id");
        if (!json_object_is_type(value, json_type_string))
                return proxy_refuse_answer("CreateSession", reason);
        id = strdup(json_object_get_string(value));
        if (!id)
                return -ENOMEM;
        if (proxy->event && proxy->backend->adopt)
                r = proxy->backend->adopt(proxy, id, spec);
        if (r == 0)
                *ret_id = TAKE_PTR(id);
        return r;
}

int proxy_check(Proxy *proxy, json_object *spec, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *arguments = NULL, *answer = NULL;
        int r = proxy_make_object("spec", json_object_get(spec), &arguments);

        r = r ?: proxy_call(proxy, NULL, "CheckSession", arguments, &answer, reason);
        return r ?: proxy_take_result(answer, "CheckSession", ret, reason);
}

int proxy_subscribe(Proxy *proxy, const char *session, Reason *reason) {
        return proxy->backend->subscribe(proxy, session, reason);
}

int proxy_watch(Proxy *proxy, bool is_of_all, Reason *reason) {
        return proxy->backend->watch(proxy, is_of_all, reason);
}

int proxy_make_watch(bool is_of_all, json_object **ret) {
        json_object *options = NULL;

        int r = proxy_make_object("all", json_object_new_boolean(is_of_all), &options);
        return r ?: proxy_make_object("options", options, ret);
}

/* Makes a row with its members in a fixed order, the same for both backends. */
static int proxy_session_make_row(json_object *row, json_object **ret) {
        static const char *const keys[] = { "id", "path", "name", "uid", "state" };
        json_object *id = json_object_object_get(row, "id");
        _cleanup_json_ json_object *made = json_object_new_object();
        _cleanup_free_ char *path = NULL;

        if (!json_object_is_type(id, json_type_string) ||
                        !json_object_is_type(json_object_object_get(row, "name"), json_type_string))
                return -EBADMSG;
        int r = made ? proxy_make_path(json_object_get_string(id), &path) : -ENOMEM;
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(keys); i++) {
                bool is_path = strcmp(keys[i], "path") == 0;
                json_object *value =
                                is_path ? json_object_new_string(path)
                                        : json_object_get(json_object_object_get(row, keys[i]));

                if (json_object_object_add(made, keys[i], value) < 0)
                        r = -ENOMEM;
        }
        if (r == 0)
                *ret = TAKE_PTR(made);
        return r;
}

int proxy_list(Proxy *proxy, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *rows = NULL, *made = json_object_new_array();
        int r = made ? proxy_get(proxy, NULL, "ListSessions", NULL, &rows, reason) : -ENOMEM;

        if (r == 0 && !json_object_is_type(rows, json_type_array))
                r = proxy_refuse_answer("ListSessions", reason);
        for (size_t i = 0; r == 0 && i < json_object_array_length(rows); i++) {
                json_object *row = NULL;

                r = proxy_session_make_row(json_object_array_get_idx(rows, i), &row);
                if (r == -EBADMSG)
                        r = proxy_refuse_answer("ListSessions", reason);
                if (r == 0 && json_object_array_add(made, row) < 0) {
                        json_object_put(row);
                        r = -ENOMEM;
                }
        }
        if (r == 0)
                *ret = TAKE_PTR(made);
        return r;
}

static const char *row_get(json_object *row, const char *key) {
        return json_object_get_string(json_object_object_get(row, key));
}

int proxy_resolve(Proxy *proxy, const char *name, char **ret_id, Reason *reason) {
        _cleanup_json_ json_object *rows = NULL;
        json_object *found = NULL;
        int r = proxy_list(proxy, &rows, reason);

        if (r != 0)
                return r;
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
                json_object *row = json_object_array_get_idx(rows, i);

                if (strcmp(row_get(row, "id"), name) == 0) {
                        found = row;
                        break;
                }
                if (*name == '\0' || strcmp(row_get(row, "name"), name) != 0)
                        continue;
                /* A name is unique only for one owner. Root and administrators see the sessions of
                 * all owners. */
                if (found)
                        return reason_set(reason,
                                        KT_E_NO_SUCH_SESSION,
                                        "%s: several users have a session of this name; "
                                        "give the id",
                                        name);
                found = row;
        }
        if (!found)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no session has this name or id; 'ktracectl list' shows yours",
                                name);
        *ret_id = strdup(row_get(found, "id"));
        return *ret_id ? 0 : -ENOMEM;
}
