/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals over Varlink: the signals of sessions, and the reports that the daemon has left or is
 * back. Each session has its own connection, on which ktraced answers Subscribe for as long as the
 * session exists. A watch is the same with Watch, for as long as the daemon runs. The daemon has
 * left when the connection breaks. It is back when a new connection succeeds. Part of
 * proxy-varlink.c; renews the connection of that file.
 *
 * A session of lifetime `client` ends with the connection that created it. When that connection
 * breaks, this file reports the end of the session and does not reconnect, because the next daemon
 * does not have the session. For every other session it reconnects. Then watch.c looks for the
 * session and decides when to stop waiting. */

#include "call/proxy-varlink-signal.h"

#include <errno.h>
#include <string.h>

#include "call/agent.h"
#include "call/proxy-session.h"
#include "call/proxy-varlink-error.h"
#include "call/proxy-varlink.h"

#define RETRY_MIN_USEC       ((uint64_t)50 * 1000)
#define RETRY_MAX_USEC       ((uint64_t)500 * 1000)
#define CONNECT_TIMEOUT_USEC ((uint64_t)5 * 1000 * 1000)

static void retry_later(ProxyVarlink *self);

static void proxy_varlink_signal_report(ProxyVarlinkSignals *signals, json_object *signal) {
        ProxyListener *listener = &signals->owner->proxy.listener;

        if (signals->session)
                listener->on_signal(signals->session, signal, listener->userdata);
        else if (listener->on_notice)
                listener->on_notice(signal, listener->userdata);
}

static const char *proxy_varlink_signal_get_method(const ProxyVarlinkSignals *signals) {
        return signals->session ? "Subscribe" : "Watch";
}

static void report_failed(ProxyVarlinkSignals *signals, const char *reason) {
        _cleanup_json_ json_object *notice = NULL;

        if (proxy_make_object("failed", json_object_new_string(reason), &notice) == 0)
                proxy_varlink_signal_report(signals, notice);
}

static void proxy_varlink_signal_report_end(ProxyVarlinkSignals *signals,
                const char *code,
                const char *reason) {
        _cleanup_json_ json_object *signal = json_object_new_object();
        json_object *end = json_object_new_object();

        signals->is_end_reported = true;
        if (!signal || !end || json_object_object_add(signal, "ended", end) < 0) {
                json_object_put(end);
                return;
        }
        (void)json_object_object_add(end, "code", json_object_new_string(code));
        (void)json_object_object_add(end, "reason", json_object_new_string(reason));
        proxy_varlink_signal_report(signals, signal);
}

static void close_link(ProxyVarlinkSignals *signals) {
        signals->source = sd_event_source_disable_unref(signals->source);
        signals->link = varlink_link_free(signals->link);
}

static void proxy_varlink_signal_finish(ProxyVarlinkSignals *signals,
                int result,
                const char *reason) {
        bool was_answered = signals->is_answered;

        signals->is_answered = signals->is_over = true;
        signals->result = result;
        close_link(signals);
        if (was_answered && !signals->session)
                report_failed(signals, reason);
        else if (was_answered && !signals->is_end_reported)
                proxy_varlink_signal_report_end(signals, "gone", reason);
}

static void take_signal(ProxyVarlinkSignals *signals, json_object *signal) {
        json_object *end = json_object_object_get(signal, "ended"),
                    *state = json_object_object_get(signal, "state");
        const char *code = json_object_get_string(json_object_object_get(end, "code"));

        if (end && signals->is_ended_by_us && code && strcmp(code, "destroyed") == 0) {
                signals->is_end_reported = true;
                return;
        }
        if (end || (state && strcmp(json_object_get_string(state), "gone") == 0))
                signals->is_end_reported = true;
        proxy_varlink_signal_report(signals, signal);
}

/* The first reply of a watch is empty. */
static void take_watch(ProxyVarlinkSignals *signals, json_object *reply) {
        json_object *notice = json_object_object_get(reply, "notice");

        signals->may_ask = false;
        if (json_object_is_type(notice, json_type_object))
                proxy_varlink_signal_report(signals, notice);
}

static int proxy_varlink_signal_take_reply(ProxyVarlinkSignals *signals, json_object *reply) {
        json_object *parameters = NULL;
        bool is_continued = false;
        Reason reason = {};
        int code = 0, r = proxy_varlink_read(signals->owner->path,
                                      proxy_varlink_signal_get_method(signals),
                                      reply,
                                      &parameters,
                                      &is_continued,
                                      &code,
                                      &reason);

        if (r < 0)
                return r;
        if (r > 0) {
                signals->reason = reason;
                proxy_varlink_signal_finish(signals, code, reason.text);
                return 0;
        }
        signals->is_answered = true;
        signals->owner->retry_usec = 0;
        if (!signals->session)
                take_watch(signals, parameters);
        else if (parameters)
                take_signal(signals, parameters);
        if (!is_continued)
                proxy_varlink_signal_finish(signals, 0, "ktraced sends no further notifications");
        return 0;
}

static int proxy_varlink_signal_process(ProxyVarlinkSignals *signals) {
        int flushed = varlink_link_flush(signals->link), filled = varlink_link_fill(signals->link),
            r = 0;
        json_object *reply;

        while (r >= 0 && signals->link && (r = varlink_link_next(signals->link, &reply)) > 0) {
                r = proxy_varlink_signal_take_reply(signals, reply);
                json_object_put(reply);
        }
        return r < 0 ? r : MIN_OF(filled, flushed);
}

static int proxy_varlink_signal_on_io(sd_event_source *source,
                int fd,
                uint32_t events,
                void *userdata) {
        ProxyVarlinkSignals *signals = userdata;
        int r = proxy_varlink_signal_process(signals);

        if (!signals->link)
                return 0;
        if (r >= 0) {
                bool wants_write = varlink_link_wants_write(signals->link);

                return sd_event_source_set_io_events(
                                source, EPOLLIN | (wants_write ? EPOLLOUT : 0));
        }
        if (signals->is_answered) {
                close_link(signals);
                retry_later(signals->owner);
                return 0;
        }
        (void)proxy_varlink_refuse(signals->owner->path,
                        proxy_varlink_signal_get_method(signals),
                        r,
                        &signals->reason);
        proxy_varlink_signal_finish(signals, KT_E_FAILED, signals->reason.text);
        return 0;
}

/* timeout_usec 0: does not wait. */
static int open_link(ProxyVarlinkSignals *signals, uint64_t timeout_usec) {
        ProxyRequest request = {
                .method = proxy_method_find(proxy_varlink_signal_get_method(signals)),
                .session = signals->session,
                .is_interactive = signals->may_ask,
        };
        _cleanup_json_ json_object *message = NULL, *arguments = NULL;

        int r = signals->session ? 0 : proxy_make_watch(signals->watches_all, &arguments);
        request.arguments = arguments;
        r = r ?: proxy_varlink_make_call(&request, true, &message);
        if (r == 0)
                r = varlink_link_open(signals->owner->path, timeout_usec, &signals->link);
        if (r == 0)
                r = varlink_link_send(signals->link, message);
        if (r == 0)
                r = sd_event_add_io(signals->owner->proxy.event,
                                &signals->source,
                                varlink_link_get_fd(signals->link),
                                EPOLLIN | EPOLLOUT,
                                proxy_varlink_signal_on_io,
                                signals);
        if (r < 0)
                close_link(signals);
        return MIN_OF(r, 0);
}

/* session: NULL for a watch. */
static int signals_new(ProxyVarlink *self, const char *session, ProxyVarlinkSignals **ret) {
        _cleanup_free_ ProxyVarlinkSignals *signals = calloc(1, sizeof(*signals));

        if (!signals)
                return -ENOMEM;
        signals->owner = self;
        signals->session = session ? strdup(session) : NULL;
        if (session && !signals->session)
                return -ENOMEM;
        TAILQ_INSERT_TAIL(&self->signals, signals, entry);
        *ret = TAKE_PTR(signals);
        return 0;
}

/* Sends the call and waits for its first answer. */
static int signals_begin(ProxyVarlinkSignals *signals, Reason *reason) {
        ProxyVarlink *self = signals->owner;
        Proxy *proxy = &self->proxy;

        int r = open_link(signals, CONNECT_TIMEOUT_USEC);
        if (r < 0)
                return proxy_varlink_refuse(self->path, NULL, r, reason);
        while (!signals->is_answered) {
                if (proxy->cancelled && *proxy->cancelled)
                        return reason_set(reason, KT_E_CANCELLED, "interrupted");
                r = sd_event_run(proxy->event, UINT64_MAX);
                if (r < 0)
                        return r;
        }
        if (signals->result != 0)
                *reason = signals->reason;
        return signals->result;
}

int proxy_varlink_subscribe(Proxy *proxy, const char *session, Reason *reason) {
        ProxyVarlinkSignals *signals;

        int r = signals_new((ProxyVarlink *)proxy, session, &signals);
        return r ?: signals_begin(signals, reason);
}

static int watch_begin(Proxy *proxy, bool is_of_all, bool may_ask, Reason *reason) {
        ProxyVarlinkSignals *signals;

        int r = signals_new((ProxyVarlink *)proxy, NULL, &signals);
        if (r < 0)
                return r;
        signals->watches_all = is_of_all;
        signals->may_ask = may_ask;
        return signals_begin(signals, reason);
}

int proxy_varlink_watch(Proxy *proxy, bool is_of_all, Reason *reason) {
        _cleanup_(agent_free_cleanup) Agent *agent = NULL;

        int r = watch_begin(proxy, is_of_all, false, reason);
        if (r != KT_E_AUTH_REQUIRED || !proxy->may_ask)
                return r;
        *reason = (Reason){};
        r = proxy->backend->check_agent(proxy, reason);
        if (r != 0)
                return r;
        r = agent_open(&agent);
        return r < 0 ? proxy_refuse(proxy, r, reason) : watch_begin(proxy, is_of_all, true, reason);
}

/* Does not wait for the answer, because the session is known to exist. */
int proxy_varlink_adopt(Proxy *proxy, const char *session, json_object *spec) {
        const char *lifetime = json_object_get_string(json_object_object_get(spec, "lifetime"));
        ProxyVarlinkSignals *signals;

        int r = signals_new((ProxyVarlink *)proxy, session, &signals);
        if (r < 0)
                return r;
        signals->is_tied = !lifetime || strcmp(lifetime, "client") == 0;
        signals->is_answered = true;
        if (open_link(signals, CONNECT_TIMEOUT_USEC) < 0)
                retry_later(signals->owner);
        return 0;
}

void proxy_varlink_note_destroy(ProxyVarlink *self, const char *session) {
        ProxyVarlinkSignals *signals;

        TAILQ_FOREACH(signals, &self->signals, entry)
                if (signals->session && strcmp(signals->session, session) == 0)
                        signals->is_ended_by_us = true;
}

/* Reports the end of sessions with lifetime `client`. Returns whether there are any. */
static bool end_tied(ProxyVarlink *self) {
        ProxyVarlinkSignals *signals;
        bool is_any = false;

        TAILQ_FOREACH(signals, &self->signals, entry) {
                if (!signals->is_tied)
                        continue;
                is_any = true;
                close_link(signals);
                signals->is_over = true;
                if (!signals->is_end_reported && !signals->is_ended_by_us)
                        proxy_varlink_signal_report_end(signals,
                                        "client-gone",
                                        "ktraced hung up, and over Varlink a session of lifetime "
                                        "client ends with its connection");
        }
        return is_any;
}

void proxy_varlink_lose(ProxyVarlink *self) {
        ProxyListener *listener = &self->proxy.listener;
        bool was_known = self->is_known;

        if (!self->proxy.event || end_tied(self))
                return;
        self->is_known = false;
        retry_later(self);
        if (was_known)
                listener->on_daemon(false, listener->userdata);
}

static int renew_link(ProxyVarlink *self) {
        ProxyListener *listener = &self->proxy.listener;

        int r = varlink_link_open(self->path, 0, &self->link);
        if (r < 0)
                return r;
        r = proxy_varlink_watch_link(self);
        if (r < 0) {
                self->link = varlink_link_free(self->link);
                return r;
        }
        listener->on_daemon(true, listener->userdata);
        return 0;
}

static int proxy_varlink_signal_on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        ProxyVarlink *self = userdata;
        ProxyVarlinkSignals *signals;
        int r = self->link ? 0 : renew_link(self);

        TAILQ_FOREACH(signals, &self->signals, entry)
                if (r == 0 && !signals->link && !signals->is_over)
                        r = open_link(signals, 0);
        if (r < 0)
                retry_later(self);
        return 0;
}

static void retry_later(ProxyVarlink *self) {
        self->retry_usec = MIN_OF(MAX_OF(self->retry_usec * 2, RETRY_MIN_USEC), RETRY_MAX_USEC);
        if (!self->retry_timer)
                (void)sd_event_add_time_relative(self->proxy.event,
                                &self->retry_timer,
                                CLOCK_MONOTONIC,
                                self->retry_usec,
                                0,
                                proxy_varlink_signal_on_retry,
                                self);
        else
                (void)sd_event_source_set_time_relative(self->retry_timer, self->retry_usec);
        (void)sd_event_source_set_enabled(self->retry_timer, SD_EVENT_ONESHOT);
}

void proxy_varlink_signals_done(ProxyVarlink *self) {
        ProxyVarlinkSignals *signals;

        while ((signals = TAILQ_FIRST(&self->signals))) {
                TAILQ_REMOVE(&self->signals, signals, entry);
                close_link(signals);
                free(signals->session);
                free(signals);
        }
        sd_event_source_disable_unref(self->retry_timer);
}
