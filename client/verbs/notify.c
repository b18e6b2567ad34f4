/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl stream --notify: prints one line for each notification of a session, as text or JSON,
 * and flushes it at once. Called by stream.c. It must subscribe, because ktraced sends a
 * session's signals only to its creator.
 *
 * Signals of one sender arrive in order, so no notification comes after the state `gone`. When the
 * reader of our output has left, SIGPIPE ends this process. */

#include "verbs/notify.h"

#include <string.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "recording/watch.h"
#include "terminal/message.h"
#include "verbs/notice-text.h"
#include "verbs/verb.h"

typedef struct Notify {
        const Context *context;
        Proxy *proxy;
        Watch watch;
        char *id;
        bool is_over; /* the session is gone */
        bool has_lost;
        int result;
} Notify;

static void take_notice(Notify *notify, json_object *notice) {
        const char *kind = json_object_get_string(json_object_object_get(notice, "kind"));

        if (!kind)
                return;
        notify->has_lost = notify->has_lost || strcmp(kind, "lost-events") == 0;
        if (notify->result == 0)
                notify->result = notice_print(notice, notify->context->json != JSON_OFF);
}

static void notify_on_signal(json_object *signal, void *userdata) {
        json_object *notice = json_object_object_get(signal, "notice");
        const char *state = json_object_get_string(json_object_object_get(signal, "state"));
        Notify *notify = userdata;

        if (json_object_is_type(notice, json_type_object))
                take_notice(notify, notice);
        if (state && strcmp(state, "gone") == 0)
                notify->is_over = true;
}

static int notify_open(Notify *notify, const char *session, Reason *reason) {
        sigset_t mask;
        int r = proxy_open(notify->context->door, &notify->proxy, reason);

        r = r ?: proxy_resolve(notify->proxy, session, &notify->id, reason);
        if (r != 0)
                return r;
        r = watch_block_signals(&mask);
        if (r >= 0)
                r = watch_init(&notify->watch, notify->proxy);
        if (r >= 0)
                r = watch_set_session(&notify->watch, notify->id);
        if (r < 0)
                return r;
        watch_set_listener(&notify->watch, notify_on_signal, notify);
        return proxy_subscribe(notify->proxy, notify->id, reason);
}

static int notify_get_status(const Notify *notify) {
        const Watch *watch = &notify->watch;

        if (notify->result < 0)
                return message_fail(notify->result, NULL);
        if (watch->ended)
                message_print("the session has ended: %s (%s)", watch->end_reason, watch->end_code);
        else if (watch->daemon_gone || watch->proxy->lost)
                message_print("%s is gone; there are no further notifications of the session",
                                watch->proxy->lost ? "the system bus" : "ktraced");
        if (watch->ended ? !watch_is_good_end(watch->end_code)
                         : !notify->is_over && watch_is_cut(watch))
                return KT_EXIT_FAILED;
        return notify->has_lost ? KT_EXIT_LOST : KT_EXIT_OK;
}

static int notify_conduct(Notify *notify, const char *session) {
        Reason reason = {};
        int r = notify_open(notify, session, &reason);

        if (r != 0)
                return message_fail(r, &reason);
        if (!notify->context->quiet)
                message_print("%s: waiting for notifications, ^C ends", session);
        while (!notify->is_over && !watch_is_cut(&notify->watch) && notify->watch.n_signals == 0 &&
                        notify->result == 0) {
                r = watch_run(&notify->watch, UINT64_MAX);
                if (r < 0)
                        return message_fail(r, NULL);
        }
        return notify_get_status(notify);
}

int notify_run(const Context *context, const char *session) {
        Notify notify = { .context = context };
        int status = notify_conduct(&notify, session);

        watch_done(&notify.watch);
        proxy_free(notify.proxy);
        free(notify.id);
        return status;
}
