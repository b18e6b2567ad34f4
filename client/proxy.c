/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bus side: connects to the system bus (DBUS_SYSTEM_BUS_ADDRESS, as sd-bus reads it), calls
 * ktraced and turns every way in which that fails into one line with the remedy. Used by all verbs
 * that talk to the daemon. Owns the connection.
 *
 * A call blocks until a loop is attached; then it is sent asynchronously and the loop runs until
 * the answer is there, so that a stream is read and a signal obeyed meanwhile. Handlers of that
 * loop never call back into here. It relies on sd-bus answering every pending call with NoReply
 * when the connection ends. Nobody is asked for a password by calls that need none: only one that
 * was refused for it is sent again, as one that may ask. Does not reconnect: a session of lifetime
 * `client` is gone with the connection. */

#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "agent.h"
#include "variant.h"

#define START_HINT "start it with 'systemctl start ktraced'"
#define LOG_HINT   "'journalctl -u ktraced' tells why"

#define CONNECT_TIMEOUT_USEC ((uint64_t)25 * 1000 * 1000)

typedef struct ProxyMapping {
        const char *name; /* a trailing '.' matches any name below */
        int code;
        const char *text; /* one %s: what the bus said */
} ProxyMapping;

static const ProxyMapping proxy_mappings[] = {
        { SD_BUS_ERROR_SERVICE_UNKNOWN,
                        KT_E_FAILED,
                        "ktraced is not running and the bus cannot start it (%s); is ktraced "
                        "installed? else " START_HINT },
        { SD_BUS_ERROR_NAME_HAS_NO_OWNER, KT_E_FAILED, "ktraced is not running (%s); " START_HINT },
        { SD_BUS_ERROR_NO_SERVER, KT_E_FAILED, "there is no system bus (%s); is dbus running?" },
        { SD_BUS_ERROR_DISCONNECTED, KT_E_FAILED, "the system bus hung up (%s)" },
        { SD_BUS_ERROR_NO_REPLY,
                        KT_E_FAILED,
                        "ktraced did not answer (%s); it may have ended, " LOG_HINT },
        { SD_BUS_ERROR_TIMEOUT, KT_E_FAILED, "ktraced did not answer in time (%s); " LOG_HINT },
        { "org.freedesktop.DBus.Error.TimedOut",
                        KT_E_FAILED,
                        "ktraced was not up in time (%s); " LOG_HINT },
        { "org.freedesktop.DBus.Error.Spawn.",
                        KT_E_FAILED,
                        "the bus could not start ktraced (%s); " LOG_HINT },
        { "org.freedesktop.systemd1.",
                        KT_E_FAILED,
                        "systemd could not start ktraced (%s); 'systemctl status ktraced' "
                        "tells why" },
        { SD_BUS_ERROR_ACCESS_DENIED,
                        KT_E_ACCESS_DENIED,
                        "the bus forbids this call (%s); are ktraced's D-Bus rules installed and "
                        "loaded?" },
        { SD_BUS_ERROR_UNKNOWN_OBJECT, KT_E_NO_SUCH_SESSION, "no such session of yours (%s)" },
        { SD_BUS_ERROR_UNKNOWN_METHOD,
                        KT_E_FAILED,
                        "ktraced is of another version than ktracectl (%s); restart it after an "
                        "upgrade" },
        { SD_BUS_ERROR_UNKNOWN_INTERFACE,
                        KT_E_FAILED,
                        "ktraced is of another version than ktracectl (%s); restart it after an "
                        "upgrade" },
        { SD_BUS_ERROR_LIMITS_EXCEEDED, KT_E_LIMIT_REACHED, "the bus allows no more (%s)" },
};

static const ProxyMapping *proxy_mapping_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(proxy_mappings); i++) {
                const char *known = proxy_mappings[i].name;
                size_t n = strlen(known);

                if (known[n - 1] == '.' ? strncmp(known, name, n) == 0 : strcmp(known, name) == 0)
                        return &proxy_mappings[i];
        }
        return NULL;
}

/* The table's texts are constants of this file with exactly one %s. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int proxy_judge_mapping(const ProxyMapping *mapping, const char *said, Reason *reason) {
        return reason_set(reason, mapping->code, mapping->text, said);
}

#pragma GCC diagnostic pop

static bool errno_means_hangup(int r) {
        return r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE || r == -ESHUTDOWN ||
               r == -ECONNABORTED;
}

int proxy_judge(const sd_bus_error *error, int r, Reason *reason) {
        const char *said = error && error->message ? error->message : strerror(-r);
        const ProxyMapping *mapping;
        const ErrorEntry *entry;

        if (!error || !error->name) {
                if (errno_means_hangup(r))
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "the connection to the system bus was lost (%s)",
                                        said);
                if (r == -ETIMEDOUT)
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "ktraced did not answer in time; " LOG_HINT);
                return reason_set(reason, KT_E_FAILED, "the call to ktraced failed: %s", said);
        }
        entry = error_find_by_bus_name(error->name);
        if (entry)
                return reason_set(reason, entry->code, "%s", *said ? said : entry->text);
        mapping = proxy_mapping_find(error->name);
        if (mapping)
                return proxy_judge_mapping(mapping, said, reason);
        if (sd_bus_error_get_errno(error) == ETIMEDOUT)
                return reason_set(reason, KT_E_FAILED, "ktraced did not answer in time; " LOG_HINT);
        return reason_set(reason, KT_E_FAILED, "ktraced answered %s: %s", error->name, said);
}

static int proxy_refuse_bus(int r, Reason *reason) {
        const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");

        if (address)
                return reason_set(reason,
                                KT_E_FAILED,
                                "cannot reach the bus at DBUS_SYSTEM_BUS_ADDRESS=%s: %s; is "
                                "it running?",
                                address,
                                strerror(-r));
        return reason_set(reason,
                        KT_E_FAILED,
                        "cannot reach the system bus: %s; is dbus running? DBUS_SYSTEM_BUS_ADDRESS "
                        "names another",
                        strerror(-r));
}

int proxy_open(Proxy **ret, Reason *reason) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = calloc(1, sizeof(*proxy));
        int r;

        if (!proxy)
                return -ENOMEM;
        r = sd_bus_open_system_with_description(&proxy->bus, "ktracectl");
        if (r < 0)
                return proxy_refuse_bus(r, reason);
        /* A library's exit() from under us would lose the exit status that scripts rely on. */
        (void)sd_bus_set_exit_on_disconnect(proxy->bus, false);
        /* Connecting goes on by itself; a bus that is not one shows only here. */
        while ((r = sd_bus_is_ready(proxy->bus)) == 0) {
                r = sd_bus_process(proxy->bus, NULL);
                if (r == 0 && sd_bus_wait(proxy->bus, CONNECT_TIMEOUT_USEC) == 0)
                        r = -ETIMEDOUT;
                if (r < 0)
                        return proxy_refuse_bus(r, reason);
        }
        if (r < 0)
                return proxy_refuse_bus(r, reason);
        *ret = TAKE_PTR(proxy);
        return 0;
}

Proxy *proxy_free(Proxy *proxy) {
        if (!proxy)
                return NULL;
        if (proxy->event)
                (void)sd_bus_detach_event(proxy->bus);
        sd_bus_flush_close_unref(proxy->bus);
        free(proxy);
        return NULL;
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Proxy *proxy = userdata;

        proxy->lost = true;
        return 0;
}

int proxy_attach(Proxy *proxy, sd_event *event, const bool *cancelled) {
        int r = sd_bus_attach_event(proxy->bus, event, SD_EVENT_PRIORITY_NORMAL);

        if (r < 0)
                return r;
        proxy->event = event;
        proxy->cancelled = cancelled;
        return sd_bus_match_signal(proxy->bus,
                        NULL,
                        "org.freedesktop.DBus.Local",
                        "/org/freedesktop/DBus/Local",
                        "org.freedesktop.DBus.Local",
                        "Disconnected",
                        on_disconnected,
                        proxy);
}

int proxy_message_new(Proxy *proxy,
                const char *path,
                const char *interface,
                const char *member,
                sd_bus_message **ret) {
        int r = sd_bus_message_new_method_call(
                        proxy->bus, ret, KT_BUS_NAME, path, interface, member);

        /* No session is left for a daemon that would have to be started first. */
        if (r >= 0 && strcmp(interface, KT_SESSION_INTERFACE) == 0)
                r = sd_bus_message_set_auto_start(*ret, false);
        return r;
}

int proxy_call_async(Proxy *proxy,
                const char *session_path,
                const char *member,
                sd_bus_message_handler_t handler,
                void *userdata,
                sd_bus_slot **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = proxy_message_new(proxy, session_path, KT_SESSION_INTERFACE, member, &message);

        return r < 0 ? r
                     : sd_bus_call_async(proxy->bus,
                                       ret,
                                       message,
                                       handler,
                                       userdata,
                                       PROXY_TIMEOUT_USEC);
}

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        sd_bus_message **answer = userdata;

        *answer = sd_bus_message_ref(message);
        return 0;
}

/* Runs the loop until the answer is there. */
static int proxy_await(Proxy *proxy,
                sd_bus_message *message,
                uint64_t timeout_usec,
                sd_bus_message **ret,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        int r = sd_bus_call_async(proxy->bus, &slot, message, on_answer, &answer, timeout_usec);

        if (r < 0)
                return proxy_judge(NULL, r, reason);
        while (!answer) {
                if (proxy->cancelled && *proxy->cancelled)
                        return reason_set(reason, KT_E_CANCELLED, "interrupted");
                r = sd_event_run(proxy->event, UINT64_MAX);
                if (r < 0)
                        return r;
        }
        if (sd_bus_message_is_method_error(answer, NULL))
                return proxy_judge(sd_bus_message_get_error(answer), -EIO, reason);
        if (ret)
                *ret = TAKE_PTR(answer);
        return 0;
}

static int proxy_try(Proxy *proxy,
                sd_bus_message *message,
                uint64_t timeout_usec,
                sd_bus_message **ret,
                Reason *reason) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        if (proxy->event)
                return proxy_await(proxy, message, timeout_usec, ret, reason);
        r = sd_bus_call(proxy->bus, message, timeout_usec, &error, ret);
        return r < 0 ? proxy_judge(&error, r, reason) : 0;
}

/* A message that was sent is sealed: a new one with the same contents. */
static int proxy_message_renew(Proxy *proxy, sd_bus_message *sent, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = proxy_message_new(proxy,
                        sd_bus_message_get_path(sent),
                        sd_bus_message_get_interface(sent),
                        sd_bus_message_get_member(sent),
                        &message);

        if (r >= 0)
                r = sd_bus_message_rewind(sent, true);
        if (r >= 0)
                r = sd_bus_message_copy(message, sent, true);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(message);
        return 0;
}

int proxy_send_once(Proxy *proxy, sd_bus_message *message, sd_bus_message **ret, Reason *reason) {
        return proxy_try(proxy, message, PROXY_TIMEOUT_USEC, ret, reason);
}

int proxy_send_asking(Proxy *proxy, sd_bus_message *message, sd_bus_message **ret, Reason *reason) {
        _cleanup_(agent_free_cleanup) Agent *agent = NULL;
        int r = sd_bus_message_set_allow_interactive_authorization(message, true);

        if (r >= 0)
                r = agent_open(&agent);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        return proxy_try(proxy, message, PROXY_PATIENCE_USEC, ret, reason);
}

int proxy_send(Proxy *proxy, sd_bus_message *message, sd_bus_message **ret, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *again = NULL;
        int r = proxy_send_once(proxy, message, ret, reason);

        if (r != KT_E_AUTH_REQUIRED || !proxy->may_ask)
                return r;
        r = proxy_message_renew(proxy, message, &again);
        return r < 0 ? proxy_judge(NULL, r, reason) : proxy_send_asking(proxy, again, ret, reason);
}

int proxy_call(Proxy *proxy,
                const char *path,
                const char *interface,
                const char *member,
                const char *text,
                sd_bus_message **ret,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = proxy_message_new(proxy, path, interface, member, &message);

        if (r >= 0 && text)
                r = sd_bus_message_append(message, "s", text);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        return proxy_send(proxy, message, ret, reason);
}

int proxy_call_json(Proxy *proxy,
                const char *path,
                const char *interface,
                const char *member,
                const char *text,
                json_object **ret,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r = proxy_call(proxy, path, interface, member, text, &answer, reason);

        if (r != 0)
                return r;
        r = variant_read(answer, ret);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "ktraced's answer to %s cannot be read: %s",
                                member,
                                strerror(-r));
        return 0;
}

int proxy_switch_event(Proxy *proxy, const char *path, const char *event, bool on, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = proxy_message_new(proxy, path, KT_SESSION_INTERFACE, "Configure", &message);

        if (r >= 0)
                r = sd_bus_message_append(message,
                                "a{sv}",
                                1,
                                on ? "events-on" : "events-off",
                                "as",
                                1,
                                event);
        return r < 0 ? proxy_judge(NULL, r, reason) : proxy_send(proxy, message, NULL, reason);
}

int proxy_resize(Proxy *proxy, const char *path, uint64_t kb, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = proxy_message_new(proxy, path, KT_SESSION_INTERFACE, "Configure", &message);

        if (r >= 0)
                r = sd_bus_message_append(message, "a{sv}", 1, "buffer-kb", "t", kb);
        return r < 0 ? proxy_judge(NULL, r, reason) : proxy_send(proxy, message, NULL, reason);
}

int proxy_open_fd(Proxy *proxy,
                const char *path,
                const char *member,
                const char *option,
                int *ret_fd,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *answer = NULL;
        int r = proxy_message_new(proxy, path, KT_SESSION_INTERFACE, member, &message);
        int fd;

        if (r >= 0)
                r = option ? sd_bus_message_append(message, "a{sv}", 1, option, "b", true)
                           : sd_bus_message_append(message, "a{sv}", 0);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        r = proxy_send(proxy, message, &answer, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_read(answer, "h", &fd);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        /* The message closes its own. */
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
                return -errno;
        *ret_fd = fd;
        return 0;
}

int proxy_create(Proxy *proxy, json_object *spec, char **ret_id, char **ret_path, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *answer = NULL;
        _cleanup_free_ char *own_id = NULL, *own_path = NULL;
        const char *id, *path;
        int r = proxy_message_new(
                        proxy, KT_OBJECT, KT_MANAGER_INTERFACE, "CreateSession", &message);

        if (r >= 0)
                r = variant_append_object(message, spec);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        r = proxy_send(proxy, message, &answer, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_read(answer, "so", &id, &path);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        own_id = strdup(id);
        own_path = strdup(path);
        if (!own_id || !own_path)
                return -ENOMEM;
        *ret_id = TAKE_PTR(own_id);
        *ret_path = TAKE_PTR(own_path);
        return 0;
}

int proxy_check(Proxy *proxy, json_object *spec, json_object **ret, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *answer = NULL;
        int r = proxy_message_new(proxy, KT_OBJECT, KT_MANAGER_INTERFACE, "CheckSession", &message);

        if (r >= 0)
                r = variant_append_object(message, spec);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        r = proxy_send(proxy, message, &answer, reason);
        if (r != 0)
                return r;
        r = variant_read(answer, ret);
        return r < 0 ? proxy_judge(NULL, r, reason) : 0;
}

/* The rows come as structs: each gets its names. */
static int proxy_name_row(json_object *row, json_object **ret) {
        static const char *const keys[] = { "id", "path", "name", "uid", "state" };
        _cleanup_json_ json_object *named = json_object_new_object();

        if (!named)
                return -ENOMEM;
        if (json_object_array_length(row) != ELEMENTSOF(keys))
                return -EBADMSG;
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (json_object_object_add(named,
                                    keys[i],
                                    json_object_get(json_object_array_get_idx(row, i))) < 0)
                        return -ENOMEM;
        *ret = TAKE_PTR(named);
        return 0;
}

int proxy_list(Proxy *proxy, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *rows = NULL, *named = json_object_new_array();
        int r;

        if (!named)
                return -ENOMEM;
        r = proxy_call_json(proxy,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "ListSessions",
                        NULL,
                        &rows,
                        reason);
        if (r != 0)
                return r;
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
                json_object *row;

                r = proxy_name_row(json_object_array_get_idx(rows, i), &row);
                if (r < 0)
                        return proxy_judge(NULL, r, reason);
                if (json_object_array_add(named, row) < 0) {
                        json_object_put(row);
                        return -ENOMEM;
                }
        }
        *ret = TAKE_PTR(named);
        return 0;
}

static const char *row_get(json_object *row, const char *key) {
        return json_object_get_string(json_object_object_get(row, key));
}

int proxy_resolve(Proxy *proxy, const char *name, char **ret_path, Reason *reason) {
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
                /* Names are unique per owner, and root and administrators see all owners. */
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
        *ret_path = strdup(row_get(found, "path"));
        return *ret_path ? 0 : -ENOMEM;
}

int proxy_is_running(Proxy *proxy, bool *ret, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int owned;
        int r = sd_bus_call_method(proxy->bus,
                        "org.freedesktop.DBus",
                        "/org/freedesktop/DBus",
                        "org.freedesktop.DBus",
                        "NameHasOwner",
                        &error,
                        &answer,
                        "s",
                        KT_BUS_NAME);

        if (r >= 0)
                r = sd_bus_message_read(answer, "b", &owned);
        if (r < 0)
                return proxy_judge(&error, r, reason);
        *ret = owned;
        return 0;
}
