/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktraced over Varlink (org.ktrace1): a backend of proxy.c. It needs no bus, so it also works early
 * at boot. Owns the connection of the calls. proxy-varlink-signal.c contains the connections for
 * signals, and what happens when ktraced hangs up.
 *
 * A service answers the calls of a connection in their order, so each reply belongs to the oldest
 * call without an answer. A call that timed out keeps its place in the queue. All input is checked
 * against the protocol. After invalid input the connection is closed. */

#include "call/proxy-varlink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "call/proxy-bus.h"
#include "call/proxy-varlink-error.h"
#include "call/proxy-varlink-signal.h"
#include "call/proxy.h"

#define ADDRESS_VARIABLE     "KTRACE_VARLINK_ADDRESS"
#define ADDRESS_PREFIX       "unix:"
#define CONNECT_TIMEOUT_USEC ((uint64_t)25 * 1000 * 1000)

static uint64_t proxy_varlink_now_usec(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Replies */

static ProxyVarlinkCall *proxy_varlink_call_free(ProxyVarlinkCall *call) {
        if (call->pending)
                call->pending->slot = NULL;
        sd_event_source_disable_unref(call->timer);
        free(call);
        return NULL;
}

static void proxy_varlink_settle(ProxyVarlinkCall *call,
                int result,
                const Reason *reason,
                ProxyAnswer *answer) {
        ProxyPending *pending = call->pending;

        call->pending = NULL;
        call->timer = sd_event_source_disable_unref(call->timer);
        if (pending) {
                pending->slot = NULL;
                proxy_pending_settle(pending, result, reason, answer);
        } else {
                proxy_answer_done(answer);
        }
}

/* The result is an index into the descriptors of the message. A message has one descriptor, so the
 * index must be 0. */
static int take_fd(ProxyVarlink *self, const ProxyMethod *method, ProxyAnswer *answer) {
        for (size_t i = 0; i < ELEMENTSOF(method->out) && method->out[i].name; i++) {
                json_object *index = json_object_object_get(answer->object, method->out[i].name);

                if (strcmp(method->out[i].type, "h") != 0)
                        continue;
                if (!json_object_is_type(index, json_type_int) || json_object_get_int(index) != 0)
                        return -EBADF;
                answer->fd = varlink_link_take_fd(self->link);
                return answer->fd < 0 ? -EBADF : 0;
        }
        return 0;
}

static bool is_of_type(json_object *value, const char *type) {
        enum json_type wanted = type[0] == 'a' && type[1] == '{' ? json_type_object
                                : type[0] == 'a'                 ? json_type_array
                                : strchr("uh", type[0])          ? json_type_int
                                                                 : json_type_string;

        return json_object_is_type(value, wanted);
}

/* Checks the type of each result, because callers rely on it. A result may be missing. */
static bool are_of_types(const ProxyMethod *method, json_object *results) {
        json_object *value;

        for (size_t i = 0; i < ELEMENTSOF(method->out) && method->out[i].name; i++)
                if (json_object_object_get_ex(results, method->out[i].name, &value) &&
                                !is_of_type(value, method->out[i].type))
                        return false;
        return true;
}

/* Returns -EPROTO when it is not a reply to this call. */
static int read_reply(ProxyVarlink *self,
                const ProxyMethod *method,
                json_object *reply,
                ProxyAnswer *answer,
                Reason *reason) {
        json_object *parameters = NULL;
        bool is_continued = false;
        int code = 0, r = proxy_varlink_read(self->path,
                                      method->name,
                                      reply,
                                      &parameters,
                                      &is_continued,
                                      &code,
                                      reason);

        if (r < 0 || is_continued)
                return -EPROTO;
        if (r > 0)
                return code;
        answer->object = parameters ? json_object_get(parameters) : json_object_new_object();
        if (!answer->object)
                return -ENOMEM;
        r = are_of_types(method, answer->object) ? take_fd(self, method, answer) : -ENOMSG;
        return r < 0 ? proxy_varlink_refuse(self->path, method->name, r, reason) : 0;
}

static int proxy_varlink_take_reply(ProxyVarlink *self, json_object *reply) {
        ProxyVarlinkCall *call = TAILQ_FIRST(&self->calls);
        ProxyAnswer answer = { .fd = -1 };
        Reason reason = {};

        if (!call)
                return -EPROTO;
        int r = read_reply(self, call->method, reply, &answer, &reason);
        if (r < 0)
                return r;
        if (r != 0)
                proxy_answer_done(&answer);
        self->is_known = true;
        self->retry_usec = 0;
        TAILQ_REMOVE(&self->calls, call, entry);
        proxy_varlink_settle(call, r, &reason, &answer);
        proxy_varlink_call_free(call);
        return 0;
}

/* Fails all pending calls. */
static void fail_calls(ProxyVarlink *self, int r) {
        ProxyVarlinkCall *call;

        while ((call = TAILQ_FIRST(&self->calls))) {
                ProxyAnswer answer = { .fd = -1 };
                Reason reason = {};

                TAILQ_REMOVE(&self->calls, call, entry);
                int code = proxy_varlink_refuse(self->path, call->method->name, r, &reason);
                proxy_varlink_settle(call, code, &reason, &answer);
                proxy_varlink_call_free(call);
        }
}

/* Processes received replies before it reports the end of the connection. */
static int proxy_varlink_process(ProxyVarlink *self) {
        int flushed = varlink_link_flush(self->link), filled = varlink_link_fill(self->link), r = 0;
        json_object *reply;

        while (r >= 0 && (r = varlink_link_next(self->link, &reply)) > 0) {
                r = proxy_varlink_take_reply(self, reply);
                json_object_put(reply);
        }
        return r < 0 ? r : MIN_OF(filled, flushed);
}

static void turn(ProxyVarlink *self) {
        int r = proxy_varlink_process(self);

        if (r >= 0)
                return;
        self->source = sd_event_source_disable_unref(self->source);
        self->link = varlink_link_free(self->link);
        proxy_varlink_lose(self);
        fail_calls(self, r);
}

/* Calls */

static int add_all(json_object *object, json_object *others) {
        int r = 0;

        json_object_object_foreach(others, key, value) {
                r |= json_object_object_add(object, key, json_object_get(value));
        }
        return r;
}

int proxy_varlink_make_call(const ProxyRequest *request, bool wants_more, json_object **ret) {
        _cleanup_json_ json_object *call = json_object_new_object();
        json_object *parameters = json_object_new_object();
        char name[sizeof(KT_BUS_NAME) + 64];
        int r = 0;

        (void)snprintf(name, sizeof(name), "%s.%s", KT_BUS_NAME, request->method->name);
        if (!call || !parameters || json_object_object_add(call, "parameters", parameters) < 0) {
                json_object_put(parameters);
                return -ENOMEM;
        }
        r |= json_object_object_add(call, "method", json_object_new_string(name));
        if (wants_more)
                r |= json_object_object_add(call, "more", json_object_new_boolean(true));
        if (request->session)
                r |= json_object_object_add(
                                parameters, "session", json_object_new_string(request->session));
        if (request->arguments)
                r |= add_all(parameters, request->arguments);
        if (request->is_interactive)
                r |= json_object_object_add(parameters,
                                "allowInteractiveAuthentication",
                                json_object_new_boolean(true));
        if (r != 0)
                return -ENOMEM;
        *ret = TAKE_PTR(call);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        ProxyVarlinkCall *call = userdata;
        ProxyVarlink *self = (ProxyVarlink *)call->pending->proxy;
        ProxyAnswer answer = { .fd = -1 };
        Reason reason = {};

        int r = proxy_varlink_refuse(self->path, call->method->name, -ETIMEDOUT, &reason);
        proxy_varlink_settle(call, r, &reason, &answer);
        return 0;
}

/* The loop continues to write when the socket does not accept all data. */
static void want_events(ProxyVarlink *self) {
        bool wants_write = varlink_link_wants_write(self->link);

        if (self->source)
                (void)sd_event_source_set_io_events(
                                self->source, EPOLLIN | (wants_write ? EPOLLOUT : 0));
}

static int varlink_begin(Proxy *proxy,
                const ProxyRequest *request,
                ProxyPending *pending,
                Reason *reason) {
        ProxyVarlink *self = (ProxyVarlink *)proxy;
        _cleanup_json_ json_object *message = NULL;
        _cleanup_free_ ProxyVarlinkCall *call = calloc(1, sizeof(*call));

        if (!call)
                return -ENOMEM;
        int r = proxy_varlink_make_call(request, false, &message);
        if (r == 0 && proxy->event)
                r = sd_event_add_time_relative(proxy->event,
                                &call->timer,
                                CLOCK_MONOTONIC,
                                request->timeout_usec,
                                0,
                                on_timeout,
                                call);
        if (r >= 0)
                r = self->link ? varlink_link_send(self->link, message) : -ENOTCONN;
        if (r < 0) {
                sd_event_source_disable_unref(call->timer);
                return proxy_varlink_refuse(self->path, request->method->name, r, reason);
        }
        call->method = request->method;
        call->pending = pending;
        call->deadline_usec = proxy_varlink_now_usec() + request->timeout_usec;
        pending->slot = call;
        /* Errors are ignored here: the read side also detects a broken connection and may still
         * contain replies. */
        (void)varlink_link_flush(self->link);
        want_events(self);
        if (strcmp(request->method->name, "Destroy") == 0)
                proxy_varlink_note_destroy(self, request->session);
        TAILQ_INSERT_TAIL(&self->calls, call, entry);
        (void)TAKE_PTR(call);
        return 0;
}

static void varlink_forget(ProxyPending *pending) {
        ProxyVarlinkCall *call = pending->slot;

        call->pending = NULL;
        call->timer = sd_event_source_disable_unref(call->timer);
}

/* Without a loop there is only one call to wait for: the last one. */
static int wait_for_reply(Proxy *proxy) {
        ProxyVarlink *self = (ProxyVarlink *)proxy;
        ProxyVarlinkCall *call = TAILQ_LAST(&self->calls, ProxyVarlinkCalls);
        uint64_t now = proxy_varlink_now_usec();
        struct pollfd fd = {
                .fd = varlink_link_get_fd(self->link),
                .events = (short)(POLLIN | (varlink_link_wants_write(self->link) ? POLLOUT : 0)),
        };

        if (now >= call->deadline_usec)
                return on_timeout(NULL, now, call);
        if (poll(&fd, 1, (int)((call->deadline_usec - now) / 1000 + 1)) < 0)
                return errno == EINTR ? 0 : -errno;
        if (fd.revents != 0)
                turn(self);
        return 0;
}

static int varlink_call(Proxy *proxy,
                const ProxyRequest *request,
                ProxyAnswer *ret,
                Reason *reason) {
        return proxy_await(proxy, request, wait_for_reply, ret, reason);
}

/* The backend */

static int proxy_varlink_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        ProxyVarlink *self = userdata;

        turn(self);
        if (self->link)
                want_events(self);
        return 0;
}

int proxy_varlink_watch_link(ProxyVarlink *self) {
        return sd_event_add_io(self->proxy.event,
                        &self->source,
                        varlink_link_get_fd(self->link),
                        EPOLLIN,
                        proxy_varlink_on_io,
                        self);
}

static int varlink_attach(Proxy *proxy) {
        ProxyVarlink *self = (ProxyVarlink *)proxy;

        /* Without a loop, a broken connection is detected at the next call. */
        return self->link ? proxy_varlink_watch_link(self) : -ENOTCONN;
}

static void varlink_free(Proxy *proxy) {
        ProxyVarlink *self = (ProxyVarlink *)proxy;
        ProxyVarlinkCall *call;

        while ((call = TAILQ_FIRST(&self->calls))) {
                TAILQ_REMOVE(&self->calls, call, entry);
                proxy_varlink_call_free(call);
        }
        proxy_varlink_signals_done(self);
        sd_event_source_disable_unref(self->source);
        varlink_link_free(self->link);
        free(self->path);
        free(self);
}

/* polkit asks over the bus, also for calls over Varlink. */
static int varlink_check_agent(Proxy *proxy, Reason *reason) {
        if (proxy_bus_is_there())
                return 0;
        return reason_set(reason,
                        KT_E_AUTH_REQUIRED,
                        "this needs a password, which polkit asks for over the system bus, and "
                        "there is no system bus; become root, or wait for the bus");
}

static int varlink_refuse(const Proxy *proxy, int r, Reason *reason) {
        return proxy_varlink_refuse(((const ProxyVarlink *)proxy)->path, NULL, r, reason);
}

static const ProxyBackend varlink_backend = {
        .free = varlink_free,
        .attach = varlink_attach,
        .call = varlink_call,
        .begin = varlink_begin,
        .forget = varlink_forget,
        .subscribe = proxy_varlink_subscribe,
        .watch = proxy_varlink_watch,
        .adopt = proxy_varlink_adopt,
        .check_agent = varlink_check_agent,
        .refuse = varlink_refuse,
};

static int proxy_varlink_find_path(const char **ret, Reason *reason) {
        const char *address = getenv(ADDRESS_VARIABLE);

        *ret = KT_VARLINK_SOCKET;
        if (!address)
                return 0;
        if (strncmp(address, ADDRESS_PREFIX "/", strlen(ADDRESS_PREFIX "/")) != 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                ADDRESS_VARIABLE ": expected " ADDRESS_PREFIX
                                                 "PATH with the path of a socket, got \"%s\"",
                                address);
        *ret = address + strlen(ADDRESS_PREFIX);
        return 0;
}

bool proxy_varlink_is_there(void) {
        const char *path;

        return proxy_varlink_find_path(&path, NULL) == 0 && access(path, F_OK) == 0;
}

int proxy_varlink_open(Proxy **ret, Reason *reason) {
        ProxyVarlink *self;
        const char *path;
        int r = proxy_varlink_find_path(&path, reason);

        if (r != 0)
                return r;
        self = calloc(1, sizeof(*self));
        if (!self)
                return -ENOMEM;
        self->proxy.backend = &varlink_backend;
        self->is_known = true;
        TAILQ_INIT(&self->calls);
        TAILQ_INIT(&self->signals);
        self->path = strdup(path);
        r = self->path ? varlink_link_open(path, CONNECT_TIMEOUT_USEC, &self->link) : -ENOMEM;
        if (r < 0) {
                varlink_free(&self->proxy);
                return r == -ENOMEM ? r : proxy_varlink_refuse(path, NULL, r, reason);
        }
        *ret = &self->proxy;
        return 0;
}

/* The daemon holds a lock on a file beside its socket. Connecting would start the daemon when
 * systemd listens on the socket. When the file exists but cannot be opened, the answer is true. */
static int look_for_lock(const char *path, bool *ret) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        _cleanup_free_ char *file = NULL;
        _cleanup_close_ int fd = -1;
        const char *slash = strrchr(path, '/');

        if (asprintf(&file, "%.*s/lock", (int)(slash - path), path) < 0) {
                file = NULL;
                return -ENOMEM;
        }
        fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) {
                *ret = errno != ENOENT;
                return 0;
        }
        if (fcntl(fd, F_GETLK, &lock) < 0)
                return -errno;
        *ret = lock.l_type != F_UNLCK;
        return 0;
}

int proxy_varlink_open_running(Proxy **ret, Reason *reason) {
        bool is_running = false;
        const char *path;

        int r = proxy_varlink_find_path(&path, reason);
        r = r ?: look_for_lock(path, &is_running);
        return r != 0 || !is_running ? r : proxy_varlink_open(ret, reason);
}
