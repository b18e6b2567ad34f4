/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "json.h"
#include "names.h"

/* A verb that waits for the kernel may take its turn behind others' for long. */
#define PROXY_TIMEOUT_USEC ((uint64_t)120 * 1000 * 1000)
/* Where a human types a password. */
#define PROXY_PATIENCE_USEC ((uint64_t)300 * 1000 * 1000)

/* ktraced as seen from here: the bus and, once attached, the caller's event loop. */
typedef struct Proxy {
        sd_bus *bus;
        sd_event *event;       /* borrowed; NULL: calls block */
        const bool *cancelled; /* borrowed; a waiting call gives up when it becomes true */
        bool lost;             /* the bus has hung up */
        bool may_ask;          /* calls that need a password may have it asked for */
} Proxy;

/* All that can fail returns 0, -errno, or KT_E_* with a reason that names the remedy. */
int proxy_open(Proxy **ret, Reason *reason);
Proxy *proxy_free(Proxy *proxy);
DEFINE_CLEANUP(Proxy, proxy_free);
/* From now on calls run the loop while they wait, and give up (KT_E_CANCELLED) when *cancelled. */
int proxy_attach(Proxy *proxy, sd_event *event, const bool *cancelled);

int proxy_message_new(Proxy *proxy,
                const char *path,
                const char *interface,
                const char *member,
                sd_bus_message **ret);
/* When it needs a password: the same again, with an agent beside it, if the proxy may_ask. */
int proxy_send(Proxy *proxy, sd_bus_message *message, sd_bus_message **ret, Reason *reason);
/* Its two halves, for what cannot be sent twice: KT_E_AUTH_REQUIRED is an answer; with an agent. */
int proxy_send_once(Proxy *proxy, sd_bus_message *message, sd_bus_message **ret, Reason *reason);
int proxy_send_asking(Proxy *proxy, sd_bus_message *message, sd_bus_message **ret, Reason *reason);
/* A method that takes one string, or nothing when text is NULL. ret may be NULL. */
int proxy_call(Proxy *proxy,
                const char *path,
                const char *interface,
                const char *member,
                const char *text,
                sd_bus_message **ret,
                Reason *reason);
/* The same; the answer's one value as JSON. */
int proxy_call_json(Proxy *proxy,
                const char *path,
                const char *interface,
                const char *member,
                const char *text,
                json_object **ret,
                Reason *reason);
/* A session's method without arguments; the handler gets the answer, also an error. */
int proxy_call_async(Proxy *proxy,
                const char *session_path,
                const char *member,
                sd_bus_message_handler_t handler,
                void *userdata,
                sd_bus_slot **ret);
/* Configure: events by name or glob. */
int proxy_switch_event(Proxy *proxy,
                const char *session_path,
                const char *event,
                bool on,
                Reason *reason);
/* Configure: the buffer's size on each CPU. */
int proxy_resize(Proxy *proxy, const char *session_path, uint64_t kb, Reason *reason);
/* OpenStream, OpenSink or Snapshot; option: a flag to set, or NULL. The fd is the caller's. */
int proxy_open_fd(Proxy *proxy,
                const char *path,
                const char *member,
                const char *option,
                int *ret_fd,
                Reason *reason);

/* Spec as JSON. */
int proxy_create(Proxy *proxy, json_object *spec, char **ret_id, char **ret_path, Reason *reason);
/* What ktraced would say to this spec, as CheckSession answers it. */
int proxy_check(Proxy *proxy, json_object *spec, json_object **ret, Reason *reason);
/* [{"id","path","name","uid","state"}], of one caller or, for root and administrators, of all. */
int proxy_list(Proxy *proxy, json_object **ret, Reason *reason);
/* The path of the session with this id or, failing that, this name. */
int proxy_resolve(Proxy *proxy, const char *name, char **ret_path, Reason *reason);
/* Whether ktraced runs now; starts nothing. */
int proxy_is_running(Proxy *proxy, bool *ret, Reason *reason);

/* Turns what the bus said into a code and a reason. Public for its test. */
int proxy_judge(const sd_bus_error *error, int r, Reason *reason);
