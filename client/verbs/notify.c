/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl stream --notify: prints one line for each notification of a session, as text or JSON,
 * and flushes it at once. Called by stream.c. It must subscribe, because ktraced sends a
 * session's signals only to its creator.
 *
 * Signals of one sender arrive in order, so no notification comes after the state `gone`. When the
 * reader of our output has left, SIGPIPE ends this process. */

#include "verbs/notify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "interfaces/json-text.h"
#include "recording/watch.h"
#include "terminal/message.h"
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

/* Prints local time, such as "2026-11-21 11:22:33.123456". */
static void print_time(uint64_t nsec) {
        time_t seconds = (time_t)(nsec / 1000000000);
        char text[32] = "";
        struct tm tm;

        if (localtime_r(&seconds, &tm))
                (void)strftime(text, sizeof(text), "%F %T", &tm);
        (void)printf("%s.%06u", text, (unsigned)(nsec % 1000000000 / 1000));
}

static void notify_print_value(const char *key, json_object *value) {
        _cleanup_free_ char *text = strdup(json_object_get_string(value));

        if (!text)
                return;
        message_clean(text);
        if (json_object_is_type(value, json_type_string) && strcmp(key, "reason") == 0)
                (void)printf(" %s=\"%s\"", key, text);
        else
                (void)printf(" %s=%s", key, text);
}

/* Prints text such as " cpu0=12 cpu1=3". */
static void print_cpus(json_object *cpus) {
        for (size_t i = 0; i < json_object_array_length(cpus); i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);

                (void)printf(" cpu%s=%s",
                                json_object_get_string(json_object_object_get(cpu, "cpu")),
                                json_object_get_string(json_object_object_get(cpu, "lost")));
        }
}

static void print_quoted(const char *before, json_object *value) {
        _cleanup_free_ char *text = strdup(json_object_get_string(value) ?: "");

        if (!text)
                return;
        message_clean(text);
        (void)printf("%s\"%s\"", before, text);
}

/* `change="FILE" was="..." is="..."` for each. */
static void print_changes(json_object *changes) {
        for (size_t i = 0; i < json_object_array_length(changes); i++) {
                json_object *change = json_object_array_get_idx(changes, i);

                print_quoted(" change=", json_object_object_get(change, "file"));
                print_quoted(" was=", json_object_object_get(change, "was"));
                print_quoted(" is=", json_object_object_get(change, "is"));
        }
}

static void print_text(json_object *notice) {
        static const char *const heads[] = {
                "kind", "session", "sequence", "monotonic-nsec", "realtime-nsec"
        };
        uint64_t merged = json_object_get_uint64(json_object_object_get(notice, "merged"));

        print_time(json_object_get_uint64(json_object_object_get(notice, "realtime-nsec")));
        (void)printf(" %s", json_object_get_string(json_object_object_get(notice, "kind")));
        json_object_object_foreach(notice, key, value) {
                size_t i = 0;

                while (i < ELEMENTSOF(heads) && strcmp(heads[i], key) != 0)
                        i++;
                if (i < ELEMENTSOF(heads) || !value || strcmp(key, "merged") == 0)
                        continue;
                if (strcmp(key, "changes") == 0)
                        print_changes(value);
                else if (json_object_is_type(value, json_type_array))
                        print_cpus(value);
                else
                        notify_print_value(key, value);
        }
        if (merged > 0)
                (void)printf(" merged=%ju", (uintmax_t)merged);
        (void)putchar('\n');
}

static int print_notice(const Notify *notify, json_object *notice) {
        int r = 0;

        if (notify->context->json == JSON_OFF)
                print_text(notice);
        else {
                /* Always one line, also with --json=pretty: a reader finds the end of an object by
                 * it. */
                r = json_text_print(stdout, notice, JSON_C_TO_STRING_PLAIN);
                (void)putchar('\n');
        }
        errno = 0;
        if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
                r = errno ? -errno : -EIO;
        return r;
}

static void take_notice(Notify *notify, json_object *notice) {
        const char *kind = json_object_get_string(json_object_object_get(notice, "kind"));

        if (!kind)
                return;
        notify->has_lost = notify->has_lost || strcmp(kind, "lost-events") == 0;
        if (notify->result == 0)
                notify->result = print_notice(notify, notice);
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
