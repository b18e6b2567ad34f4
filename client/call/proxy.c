/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls ktraced for all verbs, over the system bus or Varlink (backends: proxy-bus.c and
 * proxy-varlink.c). Turns every error into one line that says what to do.
 *
 * A call blocks when no loop is attached. With a loop, the call is sent asynchronously and the loop
 * runs until the answer comes. So streams are read and signals are handled during a call. Handlers
 * of that loop must not wait for a call. A call is first sent without permission to ask for a
 * password. Only when it is refused for that reason is it sent again with permission. */

#include "call/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call/agent.h"
#include "call/proxy-backend.h"
#include "call/proxy-bus.h"
#include "call/proxy-varlink.h"

/* The default of sd-bus. */
#define BUS_SOCKET "/run/dbus/system_bus_socket"

/* A verb that waits for the kernel may have to wait a long time for other verbs. */
#define TIMEOUT_USEC ((uint64_t)120 * 1000 * 1000)
/* Long enough for a person to type a password. */
#define PATIENCE_USEC ((uint64_t)300 * 1000 * 1000)
#define PACE_TRIES    30 /* one per second */

/* Early at boot the bus's socket does not exist yet and the environment names no other bus. Then
 * Varlink is used. */
static bool is_before_bus(void) {
        return !getenv("DBUS_SYSTEM_BUS_ADDRESS") && access(BUS_SOCKET, F_OK) < 0 &&
               errno == ENOENT && proxy_varlink_is_there();
}

static bool is_over_varlink(ProxyDoor door) {
        return door == PROXY_DOOR_VARLINK || is_before_bus();
}

int proxy_open(ProxyDoor door, Proxy **ret, Reason *reason) {
        return is_over_varlink(door) ? proxy_varlink_open(ret, reason)
                                     : proxy_bus_open(ret, reason);
}

int proxy_open_running(ProxyDoor door, Proxy **ret, Reason *reason) {
        *ret = NULL;
        return is_over_varlink(door) ? proxy_varlink_open_running(ret, reason)
                                     : proxy_bus_open_running(ret, reason);
}

Proxy *proxy_free(Proxy *proxy) {
        if (proxy)
                proxy->backend->free(proxy);
        return NULL;
}

int proxy_attach(Proxy *proxy,
                sd_event *event,
                const bool *cancelled,
                const ProxyListener *listener) {
        proxy->event = event;
        proxy->cancelled = cancelled;
        proxy->listener = *listener;
        int r = proxy->backend->attach(proxy);
        if (r < 0)
                proxy->event = NULL;
        return MIN_OF(r, 0);
}

int proxy_refuse(const Proxy *proxy, int r, Reason *reason) {
        return proxy->backend->refuse(proxy, r, reason);
}

void proxy_answer_done(ProxyAnswer *answer) {
        json_object_put(answer->object);
        if (answer->fd >= 0)
                close(answer->fd);
        *answer = (ProxyAnswer){ .fd = -1 };
}

/* Asynchronous calls */

void proxy_pending_settle(ProxyPending *pending,
                int result,
                const Reason *reason,
                ProxyAnswer *answer) {
        if (pending->on_answer)
                pending->on_answer(result, reason, answer, pending->userdata);
        else
                pending->handler(result, reason, answer->object, pending->userdata);
        /* The call may free the pending. */
        proxy_answer_done(answer);
}

ProxyPending *proxy_pending_free(ProxyPending *pending) {
        if (!pending)
                return NULL;
        if (pending->slot)
                pending->proxy->backend->forget(pending);
        free(pending);
        return NULL;
}

static int proxy_begin_call(Proxy *proxy,
                const ProxyRequest *request,
                const ProxyPending *how,
                ProxyPending **ret,
                Reason *reason) {
        _cleanup_(proxy_pending_free_cleanup) ProxyPending *pending = malloc(sizeof(*pending));

        if (!pending)
                return -ENOMEM;
        *pending = *how;
        pending->proxy = proxy;
        pending->method = request->method;
        int r = proxy->backend->begin(proxy, request, pending, reason);
        if (r == 0)
                *ret = TAKE_PTR(pending);
        return r;
}

static int proxy_make_request(const Proxy *proxy, const ProxyCall *call, ProxyRequest *ret) {
        const ProxyMethod *method = proxy_method_find(call->method);

        if (!method || method->is_of_session != (call->session != NULL))
                return -EOPNOTSUPP;
        *ret = (ProxyRequest){
                .method = method,
                .session = call->session,
                .arguments = call->arguments,
                .timeout_usec = proxy->timeout_usec ?: TIMEOUT_USEC,
        };
        return 0;
}

int proxy_begin(Proxy *proxy,
                const ProxyCall *call,
                ProxyHandler handler,
                void *userdata,
                ProxyPending **ret) {
        ProxyPending how = { .handler = handler, .userdata = userdata };
        ProxyRequest request;
        Reason reason;

        int r = proxy_make_request(proxy, call, &request);
        return r < 0 ? r : proxy_begin_call(proxy, &request, &how, ret, &reason);
}

/* Synchronous calls */

typedef struct Waiting {
        bool is_answered;
        int result;
        Reason reason;
        ProxyAnswer answer;
} Waiting;

static void proxy_on_answer(int result, const Reason *reason, ProxyAnswer *answer, void *userdata) {
        Waiting *waiting = userdata;

        *waiting = (Waiting){ true, result, *reason, *answer };
        *answer = (ProxyAnswer){ .fd = -1 };
}

static bool is_cancelled(const Proxy *proxy) {
        return proxy->cancelled && *proxy->cancelled;
}

int proxy_await(Proxy *proxy,
                const ProxyRequest *request,
                int (*turn)(Proxy *proxy),
                ProxyAnswer *ret,
                Reason *reason) {
        _cleanup_(proxy_pending_free_cleanup) ProxyPending *pending = NULL;
        Waiting waiting = {};
        ProxyPending how = { .on_answer = proxy_on_answer, .userdata = &waiting };
        int r = proxy_begin_call(proxy, request, &how, &pending, reason);

        if (r != 0)
                return r;
        while (!waiting.is_answered) {
                if (is_cancelled(proxy))
                        return reason_set(reason, KT_E_CANCELLED, "interrupted");
                r = turn(proxy);
                if (r < 0)
                        return r;
        }
        if (waiting.result != 0)
                *reason = waiting.reason;
        else
                *ret = waiting.answer;
        return waiting.result;
}

static int run_loop(Proxy *proxy) {
        return sd_event_run(proxy->event, UINT64_MAX);
}

/* Each second, the daemon gives each user a share of its time. When the share is used up, it
 * refuses calls before it does anything, so they can be sent again. */
static bool is_too_early(int result, const Reason *reason) {
        return result == KT_E_LIMIT_REACHED && strstr(reason->text, "(max-call-usec-per-sec)");
}

static uint64_t proxy_get_now_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The loop handles other events during the wait. Each run handles one source. */
static void wait_a_second(Proxy *proxy) {
        uint64_t now = proxy_get_now_usec(), end = now + 1000000;
        int r = 0;

        if (!proxy->event) {
                (void)sleep(1);
                return;
        }
        for (; r >= 0 && now < end && !is_cancelled(proxy); now = proxy_get_now_usec())
                r = sd_event_run(proxy->event, end - now);
}

static int try(Proxy *proxy, const ProxyRequest *request, ProxyAnswer *ret, Reason *reason) {
        int r;

        for (int i = 0;; i++) {
                *reason = (Reason){};
                r = proxy->event ? proxy_await(proxy, request, run_loop, ret, reason)
                                 : proxy->backend->call(proxy, request, ret, reason);
                if (!is_too_early(r, reason) || i == PACE_TRIES || is_cancelled(proxy))
                        return r;
                wait_a_second(proxy);
        }
}

static int try_asking(Proxy *proxy, ProxyRequest *request, ProxyAnswer *ret, Reason *reason) {
        _cleanup_(agent_free_cleanup) Agent *agent = NULL;
        int r = proxy->backend->check_agent ? proxy->backend->check_agent(proxy, reason) : 0;

        if (r != 0)
                return r;
        r = agent_open(&agent);
        if (r < 0)
                return proxy_refuse(proxy, r, reason);
        request->is_interactive = true;
        request->timeout_usec = PATIENCE_USEC;
        return try(proxy, request, ret, reason);
}

int proxy_perform(Proxy *proxy, const ProxyCall *call, ProxyAnswer *ret, Reason *reason) {
        ProxyRequest request;
        int r = proxy_make_request(proxy, call, &request);

        if (r < 0)
                return r;
        if (call->asking == PROXY_ASKS_NOW)
                return try_asking(proxy, &request, ret, reason);
        r = try(proxy, &request, ret, reason);
        if (r == KT_E_AUTH_REQUIRED && call->asking == PROXY_ASKS_AGAIN && proxy->may_ask)
                r = try_asking(proxy, &request, ret, reason);
        return r;
}

int proxy_call(Proxy *proxy,
                const char *session,
                const char *method,
                json_object *arguments,
                json_object **ret,
                Reason *reason) {
        ProxyCall call = { .session = session, .method = method, .arguments = arguments };
        ProxyAnswer answer = { .fd = -1 };
        int r = proxy_perform(proxy, &call, &answer, reason);

        if (r == 0 && ret)
                *ret = TAKE_PTR(answer.object);
        proxy_answer_done(&answer);
        return r;
}

int proxy_make_object(const char *key, json_object *value, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object || !value || json_object_object_add(object, key, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        *ret = TAKE_PTR(object);
        return 0;
}

static int call_with_text(Proxy *proxy,
                const char *session,
                const char *name,
                const char *text,
                json_object **ret,
                Reason *reason) {
        const ProxyMethod *method = proxy_method_find(name);
        _cleanup_json_ json_object *arguments = NULL;
        int r = 0;

        if (text && method && method->in[0].name)
                r = proxy_make_object(method->in[0].name, json_object_new_string(text), &arguments);
        return r ?: proxy_call(proxy, session, name, arguments, ret, reason);
}

int proxy_order(Proxy *proxy,
                const char *session,
                const char *method,
                const char *text,
                Reason *reason) {
        return call_with_text(proxy, session, method, text, NULL, reason);
}

int proxy_refuse_answer(const char *method, Reason *reason) {
        return reason_set(reason,
                        KT_E_FAILED,
                        "ktraced's answer to %s cannot be read: something is missing in it",
                        method);
}

int proxy_take_result(json_object *object, const char *method, json_object **ret, Reason *reason) {
        json_object *value = json_object_object_get(object, proxy_method_find(method)->out[0].name);

        if (!value)
                return proxy_refuse_answer(method, reason);
        *ret = json_object_get(value);
        return 0;
}

int proxy_get(Proxy *proxy,
                const char *session,
                const char *method,
                const char *text,
                json_object **ret,
                Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        int r = call_with_text(proxy, session, method, text, &object, reason);

        return r ?: proxy_take_result(object, method, ret, reason);
}

int proxy_configure(Proxy *proxy,
                const char *session,
                const char *key,
                json_object *value,
                Reason *reason) {
        _cleanup_json_ json_object *arguments = NULL;
        json_object *changes;
        int r = proxy_make_object(key, value, &changes);

        r = r ?: proxy_make_object("changes", changes, &arguments);
        return r ?: proxy_call(proxy, session, "Configure", arguments, NULL, reason);
}

int proxy_open_fd(Proxy *proxy,
                const char *session,
                const char *method,
                const char *option,
                int *ret_fd,
                Reason *reason) {
        _cleanup_json_ json_object *arguments = NULL;
        ProxyCall call = { .session = session, .method = method };
        ProxyAnswer answer = { .fd = -1 };
        json_object *options;
        int r = 0;

        if (option) {
                r = proxy_make_object(option, json_object_new_boolean(true), &options);
                r = r ?: proxy_make_object("options", options, &arguments);
        }
        call.arguments = arguments;
        r = r ?: proxy_perform(proxy, &call, &answer, reason);
        if (r != 0)
                return r;
        *ret_fd = TAKE_FD(answer.fd);
        proxy_answer_done(&answer);
        return *ret_fd < 0 ? proxy_refuse_answer(method, reason) : 0;
}
