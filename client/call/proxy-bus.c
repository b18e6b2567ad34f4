/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktraced over the system bus (DBUS_SYSTEM_BUS_ADDRESS, as sd-bus reads it): a backend of proxy.c.
 * Owns the connection. Uses the table of proxy-method.c to turn JSON into messages and answers into
 * JSON.
 *
 * It relies on two facts: sd-bus answers every pending call with NoReply when the connection ends,
 * and ktraced sends a session's signals only to the creator and to subscribers. Does not reconnect:
 * a session of lifetime `client` ends with the connection. A watch is renewed when the next daemon
 * has come.
 *
 * Any user of the bus can send a signal to this connection, and sd-bus compares only unique names
 * of senders. So the handlers here check who has sent a signal. */

#include "call/proxy-bus.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "call/proxy-backend.h"
#include "call/proxy-bus-error.h"
#include "call/proxy-session.h"
#include "call/proxy.h"
#include "call/variant.h"

#define CONNECT_TIMEOUT_USEC ((uint64_t)25 * 1000 * 1000)

#define MATCHES_MAX 4
#define BUS_ITSELF  "org.freedesktop.DBus"

typedef struct ProxyBus {
        Proxy proxy; /* first, so that a Proxy * can be cast */
        sd_bus *bus;
        bool is_borrowed; /* the bus is the caller's, who also closes it */
        sd_bus_slot *matches[MATCHES_MAX];
        char daemon[256]; /* its unique name; "": none runs */
        bool watches, watches_all;
        ProxyPending *renewal; /* of the watch */
} ProxyBus;

static sd_bus *get_bus(Proxy *proxy) {
        return ((ProxyBus *)proxy)->bus;
}

static int refuse_bus(int r, Reason *reason) {
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

/* sd-bus connects asynchronously. An address that is not a bus causes an error only here. */
static int wait_until_ready(sd_bus *bus) {
        int r;

        while ((r = sd_bus_is_ready(bus)) == 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0 && sd_bus_wait(bus, CONNECT_TIMEOUT_USEC) == 0)
                        r = -ETIMEDOUT;
                if (r < 0)
                        return r;
        }
        return r;
}

bool proxy_bus_is_there(void) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;

        return sd_bus_open_system(&bus) >= 0 && wait_until_ready(bus) >= 0;
}

static void bus_free(Proxy *proxy) {
        ProxyBus *self = (ProxyBus *)proxy;

        proxy_pending_free(self->renewal);
        for (size_t i = 0; i < MATCHES_MAX; i++)
                sd_bus_slot_unref(self->matches[i]);
        if (proxy->event)
                (void)sd_bus_detach_event(self->bus);
        if (self->is_borrowed)
                sd_bus_unref(self->bus);
        else
                sd_bus_flush_close_unref(self->bus);
        free(proxy);
}

/* Signals */

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Proxy *proxy = userdata;

        proxy->lost = true;
        return 0;
}

static bool is_sender(sd_bus_message *message, const char *name) {
        return strcmp(sd_bus_message_get_sender(message) ?: "", name) == 0;
}

static bool is_from_daemon(Proxy *proxy, sd_bus_message *message) {
        return is_sender(message, ((ProxyBus *)proxy)->daemon);
}

/* Any other failure means that this daemon has left, too. The next daemon is awaited. */
static void on_watch_renewed(int result,
                const Reason *reason,
                json_object *object _unused_,
                void *userdata) {
        _cleanup_json_ json_object *notice = NULL;
        ProxyBus *self = userdata;

        self->renewal = proxy_pending_free(self->renewal);
        if (result <= 0 || result == KT_E_FAILED || !self->proxy.listener.on_notice ||
                        proxy_make_object("failed", json_object_new_string(reason->text), &notice) <
                                        0)
                return;
        self->watches = false;
        self->proxy.listener.on_notice(notice, self->proxy.listener.userdata);
}

static void renew_watch(ProxyBus *self) {
        _cleanup_json_ json_object *arguments = NULL;

        if (!self->watches || proxy_make_watch(self->watches_all, &arguments) < 0)
                return;
        self->renewal = proxy_pending_free(self->renewal);
        (void)proxy_begin(&self->proxy,
                        &(ProxyCall){ .method = "Watch", .arguments = arguments },
                        on_watch_renewed,
                        self,
                        &self->renewal);
}

static int on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *name, *old_owner, *new_owner;
        Proxy *proxy = userdata;
        ProxyBus *self = userdata;

        if (!is_sender(message, BUS_ITSELF) ||
                        sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0 ||
                        strcmp(name, KT_BUS_NAME) != 0)
                return 0;
        (void)snprintf(self->daemon, sizeof(self->daemon), "%s", new_owner);
        if (*old_owner)
                proxy->listener.on_daemon(false, proxy->listener.userdata);
        if (*new_owner) {
                proxy->listener.on_daemon(true, proxy->listener.userdata);
                renew_watch(self);
        }
        return 0;
}

/* Reads "ss": the code and the reason. */
static int proxy_bus_read_end(sd_bus_message *message, json_object **ret) {
        _cleanup_json_ json_object *end = json_object_new_object();
        json_object *code = NULL, *reason = NULL;

        int r = variant_read(message, &code);
        if (r >= 0 && json_object_object_add(end, "code", code) < 0)
                r = -ENOMEM;
        if (r >= 0)
                r = variant_read(message, &reason);
        if (r >= 0 && json_object_object_add(end, "reason", reason) < 0)
                r = -ENOMEM;
        if (r >= 0)
                *ret = TAKE_PTR(end);
        return r;
}

static int read_signal(sd_bus_message *message, json_object **ret) {
        static const struct {
                const char *member, *key;
                int (*read)(sd_bus_message *message, json_object **ret);
        } signals[] = {
                { "StateChanged", "state", variant_read },
                { "Notified", "notice", variant_read },
                { "Ended", "ended", proxy_bus_read_end },
        };

        _cleanup_json_ json_object *signal = json_object_new_object();
        json_object *value;

        for (size_t i = 0; signal && i < ELEMENTSOF(signals); i++) {
                if (strcmp(sd_bus_message_get_member(message), signals[i].member) != 0)
                        continue;
                int r = signals[i].read(message, &value);
                if (r < 0)
                        return r;
                if (json_object_object_add(signal, signals[i].key, value) < 0)
                        return -ENOMEM;
                *ret = TAKE_PTR(signal);
                return 0;
        }
        return -ENOENT;
}

static int proxy_bus_on_session(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *path = sd_bus_message_get_path(message), *slash = strrchr(path, '/');
        _cleanup_json_ json_object *signal = NULL;
        Proxy *proxy = userdata;

        if (is_from_daemon(proxy, message) &&
                        strncmp(path, KT_SESSION_PREFIX, strlen(KT_SESSION_PREFIX)) == 0 &&
                        read_signal(message, &signal) >= 0)
                proxy->listener.on_signal(slash + 1, signal, proxy->listener.userdata);
        return 0;
}

static int proxy_bus_on_notice(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        _cleanup_json_ json_object *notice = NULL;
        Proxy *proxy = userdata;

        if (is_from_daemon(proxy, message) && proxy->listener.on_notice &&
                        variant_read(message, &notice) >= 0)
                proxy->listener.on_notice(notice, proxy->listener.userdata);
        return 0;
}

/* A daemon that does not run has no name. */
static int find_daemon(ProxyBus *self) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *name;

        int r = sd_bus_call_method(self->bus,
                        BUS_ITSELF,
                        "/org/freedesktop/DBus",
                        BUS_ITSELF,
                        "GetNameOwner",
                        &error,
                        &answer,
                        "s",
                        KT_BUS_NAME);
        if (r < 0 && sd_bus_error_has_name(&error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                return 0;
        if (r >= 0)
                r = sd_bus_message_read(answer, "s", &name);
        if (r >= 0)
                (void)snprintf(self->daemon, sizeof(self->daemon), "%s", name);
        return r;
}

static int bus_attach(Proxy *proxy) {
        sd_bus_slot **matches = ((ProxyBus *)proxy)->matches;
        sd_bus *bus = get_bus(proxy);
        int r = sd_bus_match_signal(bus,
                        &matches[0],
                        KT_BUS_NAME,
                        NULL,
                        KT_SESSION_INTERFACE,
                        NULL,
                        proxy_bus_on_session,
                        proxy);

        if (r >= 0)
                r = sd_bus_add_match(bus,
                                &matches[1],
                                "type='signal',sender='org.freedesktop.DBus',"
                                "path='/org/freedesktop/DBus',interface='org.freedesktop.DBus',"
                                "member='NameOwnerChanged',arg0='" KT_BUS_NAME "'",
                                on_owner_changed,
                                proxy);
        if (r >= 0)
                r = sd_bus_match_signal(bus,
                                &matches[2],
                                "org.freedesktop.DBus.Local",
                                "/org/freedesktop/DBus/Local",
                                "org.freedesktop.DBus.Local",
                                "Disconnected",
                                on_disconnected,
                                proxy);
        if (r >= 0)
                r = sd_bus_match_signal(bus,
                                &matches[3],
                                KT_BUS_NAME,
                                KT_OBJECT,
                                KT_MANAGER_INTERFACE,
                                "Notified",
                                proxy_bus_on_notice,
                                proxy);
        if (r >= 0)
                r = find_daemon((ProxyBus *)proxy);
        if (r < 0 || !proxy->event)
                return r;
        return sd_bus_attach_event(bus, proxy->event, SD_EVENT_PRIORITY_NORMAL);
}

/* Calls */

static int proxy_bus_append_objects(sd_bus_message *message, json_object *list) {
        int r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "a{sv}");

        for (size_t i = 0; r >= 0 && list && i < json_object_array_length(list); i++)
                r = variant_append_fields(message, json_object_array_get_idx(list, i));
        return r < 0 ? r : sd_bus_message_close_container(message);
}

/* An argument that is not given is sent as an empty value. */
static int proxy_bus_append(sd_bus_message *message,
                const ProxyArgument *argument,
                json_object *value) {
        if (strcmp(argument->type, "s") == 0)
                return sd_bus_message_append(
                                message, "s", value ? json_object_get_string(value) : "");
        if (strcmp(argument->type, "a{sv}") == 0)
                return value ? variant_append_fields(message, value)
                             : sd_bus_message_append(message, "a{sv}", 0);
        if (strcmp(argument->type, "aa{sv}") == 0)
                return proxy_bus_append_objects(message, value);
        return -EOPNOTSUPP;
}

static int make_message(sd_bus *bus, const ProxyRequest *request, sd_bus_message **ret) {
        const ProxyMethod *method = request->method;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_free_ char *path = NULL;

        int r = method->is_of_session ? proxy_make_path(request->session, &path) : 0;
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(bus,
                        &message,
                        KT_BUS_NAME,
                        path ?: KT_OBJECT,
                        method->is_of_session ? KT_SESSION_INTERFACE : KT_MANAGER_INTERFACE,
                        method->name);
        /* A daemon that must first be started has no sessions. */
        if (r >= 0 && method->is_of_session)
                r = sd_bus_message_set_auto_start(message, false);
        if (r >= 0 && request->is_interactive)
                r = sd_bus_message_set_allow_interactive_authorization(message, true);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(method->in) && method->in[i].name; i++)
                r = proxy_bus_append(message,
                                &method->in[i],
                                json_object_object_get(request->arguments, method->in[i].name));
        if (r >= 0)
                *ret = TAKE_PTR(message);
        return r;
}

/* Turns each struct of an array into an object with the names of its members. */
static int name_members(json_object *rows, const char *const *members) {
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
                _cleanup_json_ json_object *named = json_object_new_object();
                json_object *row = json_object_array_get_idx(rows, i);
                size_t n = 0;

                for (; named && members[n]; n++)
                        if (json_object_object_add(named,
                                            members[n],
                                            json_object_get(json_object_array_get_idx(row, n))) < 0)
                                return -ENOMEM;
                if (n != json_object_array_length(row))
                        return -EBADMSG;
                if (json_object_array_put_idx(rows, i, named) < 0)
                        return -ENOMEM;
                named = NULL; /* now owned by rows */
        }
        return 0;
}

static int read_fd(sd_bus_message *message, ProxyAnswer *answer, json_object **ret) {
        int fd, r = sd_bus_message_read(message, "h", &fd);

        if (r < 0)
                return r;
        /* The message closes its own descriptor. */
        answer->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (answer->fd < 0)
                return -errno;
        *ret = json_object_new_int(0);
        return *ret ? 0 : -ENOMEM;
}

static int read_results(sd_bus_message *message, const ProxyMethod *method, ProxyAnswer *answer) {
        answer->object = json_object_new_object();
        if (!answer->object)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(method->out) && method->out[i].name; i++) {
                const ProxyArgument *argument = &method->out[i];
                json_object *value;

                int r = strcmp(argument->type, "h") == 0 ? read_fd(message, answer, &value)
                                                         : variant_read(message, &value);
                if (r < 0)
                        return r;
                if (json_object_object_add(answer->object, argument->name, value) < 0) {
                        json_object_put(value);
                        return -ENOMEM;
                }
                r = argument->members ? name_members(value, argument->members) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* For a method of the manager, UnknownObject means that the daemon has no objects yet. It does not
 * mean that a session is missing. */
static int proxy_bus_judge_error(const ProxyMethod *method,
                const sd_bus_error *error,
                int r,
                Reason *reason) {
        int code = proxy_bus_judge(error, r, reason);

        return !method->is_of_session && sd_bus_error_has_name(error, SD_BUS_ERROR_UNKNOWN_OBJECT)
                               ? KT_E_FAILED
                               : code;
}

static int read_answer(sd_bus_message *message,
                const ProxyMethod *method,
                ProxyAnswer *ret,
                Reason *reason) {
        ProxyAnswer answer = { .fd = -1 };

        if (sd_bus_message_is_method_error(message, NULL))
                return proxy_bus_judge_error(
                                method, sd_bus_message_get_error(message), -EIO, reason);
        int r = read_results(message, method, &answer);
        if (r < 0) {
                proxy_answer_done(&answer);
                return reason_set(reason,
                                KT_E_FAILED,
                                "ktraced's answer to %s cannot be read: %s",
                                method->name,
                                strerror(-r));
        }
        *ret = answer;
        return 0;
}

static int bus_call(Proxy *proxy, const ProxyRequest *request, ProxyAnswer *ret, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *answer = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        int r = make_message(get_bus(proxy), request, &message);
        if (r >= 0)
                r = sd_bus_call(get_bus(proxy), message, request->timeout_usec, &error, &answer);
        return r < 0 ? proxy_bus_judge_error(request->method, &error, r, reason)
                     : read_answer(answer, request->method, ret, reason);
}

static int proxy_bus_on_answer(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        ProxyAnswer answer = { .fd = -1 };
        ProxyPending *pending = userdata;
        Reason reason = {};

        int r = read_answer(message, pending->method, &answer, &reason);
        pending->slot = sd_bus_slot_unref(pending->slot);
        proxy_pending_settle(pending, r, &reason, &answer);
        return 0;
}

static int bus_begin(Proxy *proxy,
                const ProxyRequest *request,
                ProxyPending *pending,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        sd_bus_slot *slot = NULL;

        int r = make_message(get_bus(proxy), request, &message);
        if (r >= 0)
                r = sd_bus_call_async(get_bus(proxy),
                                &slot,
                                message,
                                proxy_bus_on_answer,
                                pending,
                                request->timeout_usec);
        if (r < 0)
                return proxy_bus_judge(NULL, r, reason);
        pending->slot = slot;
        return 0;
}

static void bus_forget(ProxyPending *pending) {
        sd_bus_slot_unref(pending->slot);
}

static int bus_subscribe(Proxy *proxy, const char *session, Reason *reason) {
        return proxy_order(proxy, session, "Subscribe", NULL, reason);
}

static int bus_watch(Proxy *proxy, bool is_of_all, Reason *reason) {
        _cleanup_json_ json_object *arguments = NULL;
        ProxyBus *self = (ProxyBus *)proxy;

        int r = proxy_make_watch(is_of_all, &arguments);
        r = r ?: proxy_call(proxy, NULL, "Watch", arguments, NULL, reason);
        if (r == 0) {
                self->watches = true;
                self->watches_all = is_of_all;
        }
        return r;
}

static int bus_refuse(const Proxy *proxy _unused_, int r, Reason *reason) {
        return proxy_bus_judge(NULL, r, reason);
}

static const ProxyBackend bus_backend = {
        .free = bus_free,
        .attach = bus_attach,
        .call = bus_call,
        .begin = bus_begin,
        .forget = bus_forget,
        .subscribe = bus_subscribe,
        .watch = bus_watch,
        .refuse = bus_refuse,
};

int proxy_bus_open(Proxy **ret, Reason *reason) {
        _cleanup_free_ ProxyBus *self = calloc(1, sizeof(*self));
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;

        if (!self)
                return -ENOMEM;
        int r = sd_bus_open_system_with_description(&bus, "ktracectl");
        if (r < 0)
                return refuse_bus(r, reason);
        /* An exit() by the library would change the exit status that scripts use. */
        (void)sd_bus_set_exit_on_disconnect(bus, false);
        r = wait_until_ready(bus);
        if (r < 0)
                return refuse_bus(r, reason);
        self->proxy.backend = &bus_backend;
        self->bus = TAKE_PTR(bus);
        *ret = &TAKE_PTR(self)->proxy;
        return 0;
}

int proxy_bus_borrow(sd_bus *bus, Proxy **ret, Reason *reason) {
        ProxyBus *self = NULL;

        int r = wait_until_ready(bus);
        if (r < 0)
                return refuse_bus(r, reason);
        self = calloc(1, sizeof(*self));
        if (!self)
                return -ENOMEM;
        *self = (ProxyBus){
                .proxy = { .backend = &bus_backend }, .bus = sd_bus_ref(bus), .is_borrowed = true
        };
        *ret = &self->proxy;
        return 0;
}

static int ask_running(Proxy *proxy, bool *ret, Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int owned;
        int r = sd_bus_call_method(get_bus(proxy),
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
                return proxy_bus_judge(&error, r, reason);
        *ret = owned;
        return 0;
}

/* Without a bus no daemon can run, so that is not an error. A bus that does not answer is an
 * error. */
int proxy_bus_open_running(Proxy **ret, Reason *reason) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        bool is_running = false;
        Reason ignored;
        int r = proxy_bus_open(&proxy, &ignored);

        if (r != 0)
                return MIN_OF(r, 0);
        r = ask_running(proxy, &is_running, reason);
        if (r == 0 && is_running)
                *ret = TAKE_PTR(proxy);
        return r;
}
