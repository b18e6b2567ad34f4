/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl watch: prints what happens to the caller's sessions, also to those that are created
 * later, until ^C. ktraced decides what the caller sees; --kind and the names of sessions only
 * select from that. The watch continues with the next daemon (ProxyListener). What is not about one
 * session, such as lost notices or a restart of the daemon, is always printed.
 *
 * A reader of our output that leaves ends the process: at the next line by SIGPIPE, and before that
 * by its hangup, which epoll reports without being asked for any event. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "terminal/message.h"
#include "verbs/notice-text.h"
#include "verbs/verb.h"

enum { OPTION_KIND = OPTION_VERB };

static const struct option watch_options[] = {
        OPTIONS_GLOBAL,
        { "all-users", no_argument, NULL, 'a' },
        { "kind", required_argument, NULL, OPTION_KIND },
        {},
};

static const char *const watch_kinds[] = {
        "state",
        "ended",
        "lost-events",
        "snapshot-taken",
        "notify",
        "guard-fired",
        "interference",
        "limit-hit",
        "notify-failed",
        "spool-waits",
};

typedef struct Watcher {
        const Context *context;
        bool is_of_all, prints_json;
        bool kinds[ELEMENTSOF(watch_kinds)];
        bool has_kinds;  /* otherwise all kinds are printed */
        char **sessions; /* names and ids; empty: all */
        int n_sessions;
        Proxy *proxy;
        sd_event *event;
        sd_event_source *signals[3], *output;
        bool is_watching;
        bool is_over;
        bool is_refused; /* by the next daemon */
        int result;
} Watcher;

static const char *watcher_get_text(json_object *notice, const char *key) {
        return json_object_get_string(json_object_object_get(notice, key)) ?: "";
}

static bool watcher_wants_kind(const Watcher *watcher, const char *kind) {
        for (size_t i = 0; watcher->has_kinds && i < ELEMENTSOF(watch_kinds); i++)
                if (strcmp(watch_kinds[i], kind) == 0)
                        return watcher->kinds[i];
        return !watcher->has_kinds;
}

static bool watcher_wants_session(const Watcher *watcher, json_object *notice) {
        for (int i = 0; i < watcher->n_sessions; i++)
                if (strcmp(watcher->sessions[i], watcher_get_text(notice, "session")) == 0 ||
                                strcmp(watcher->sessions[i], watcher_get_text(notice, "name")) == 0)
                        return true;
        return watcher->n_sessions == 0;
}

static void watcher_print(Watcher *watcher, json_object *notice) {
        if (watcher->result == 0)
                watcher->result = notice_print(notice, watcher->prints_json);
}

static void watcher_on_notice(json_object *notice, void *userdata) {
        const char *kind = watcher_get_text(notice, "kind");
        Watcher *watcher = userdata;

        if (json_object_object_get(notice, "failed")) {
                message_print("the next ktraced refuses this watch: %s",
                                watcher_get_text(notice, "failed"));
                watcher->is_refused = true;
        } else if (!*kind || (watcher_wants_kind(watcher, kind) &&
                                             watcher_wants_session(watcher, notice)))
                watcher_print(watcher, notice);
}

/* The first call of Watch may start a daemon. This is not printed. */
static void watcher_on_daemon(bool is_there, void *userdata) {
        _cleanup_json_ json_object *notice = NULL;
        Watcher *watcher = userdata;

        if (watcher->is_watching &&
                        proxy_make_object("daemon",
                                        json_object_new_string(is_there ? "back" : "gone"),
                                        &notice) == 0)
                watcher_print(watcher, notice);
}

static void watcher_on_session(const char *session _unused_,
                json_object *signal _unused_,
                void *userdata _unused_) {
        /* No session was created or subscribed to. */
}

static int watcher_on_signal(sd_event_source *source _unused_,
                const struct signalfd_siginfo *si _unused_,
                void *userdata) {
        ((Watcher *)userdata)->is_over = true;
        return 0;
}

static int watcher_on_output(sd_event_source *source _unused_,
                int fd _unused_,
                uint32_t events,
                void *userdata) {
        if (events & (EPOLLERR | EPOLLHUP))
                ((Watcher *)userdata)->is_over = true;
        return 0;
}

static int watcher_make_loop(Watcher *watcher) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

        int r = sd_event_new(&watcher->event);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(signals); i++)
                r = sd_event_add_signal(watcher->event,
                                &watcher->signals[i],
                                signals[i] | SD_EVENT_SIGNAL_PROCMASK,
                                watcher_on_signal,
                                watcher);
        if (r < 0)
                return r;
        r = sd_event_add_io(watcher->event,
                        &watcher->output,
                        STDOUT_FILENO,
                        0,
                        watcher_on_output,
                        watcher);
        return r == -EPERM ? 0 : MIN_OF(r, 0); /* EPERM: a regular file has no reader */
}

static int watcher_open(Watcher *watcher, Reason *reason) {
        int r = watcher_make_loop(watcher);

        r = r < 0 ? r : proxy_open(watcher->context->door, &watcher->proxy, reason);
        if (r != 0)
                return r;
        watcher->proxy->may_ask = watcher->context->ask_password;
        r = proxy_attach(watcher->proxy,
                        watcher->event,
                        &watcher->is_over,
                        &(ProxyListener){ watcher_on_session,
                                        watcher_on_daemon,
                                        watcher_on_notice,
                                        watcher });
        return r < 0 ? r : proxy_watch(watcher->proxy, watcher->is_of_all, reason);
}

static int watcher_conduct(Watcher *watcher) {
        Reason reason = {};
        int r = watcher_open(watcher, &reason);

        if (r == KT_E_CANCELLED && watcher->is_over)
                return KT_EXIT_OK;
        if (r != 0)
                return message_fail(r, &reason);
        watcher->is_watching = true;
        if (!watcher->context->quiet)
                message_print("waiting for notices, ^C ends");
        while (!watcher->is_over && !watcher->is_refused && !watcher->proxy->lost &&
                        watcher->result == 0 && r >= 0)
                r = sd_event_run(watcher->event, UINT64_MAX);
        if (watcher->result < 0 || r < 0)
                return message_fail(MIN_OF(watcher->result, r), NULL);
        if (watcher->proxy->lost)
                message_print("the system bus is gone; there are no further notices");
        return watcher->is_over ? KT_EXIT_OK : KT_EXIT_FAILED;
}

static void watcher_done(Watcher *watcher) {
        proxy_free(watcher->proxy);
        for (size_t i = 0; i < ELEMENTSOF(watcher->signals); i++)
                sd_event_source_disable_unref(watcher->signals[i]);
        sd_event_source_disable_unref(watcher->output);
        sd_event_unref(watcher->event);
}

static int watcher_refuse_kind(const Watcher *watcher, const char *kind) {
        char known[256] = "";

        for (size_t i = 0; i < ELEMENTSOF(watch_kinds); i++) {
                size_t used = strlen(known);

                (void)snprintf(known + used,
                                sizeof(known) - used,
                                "%s%s",
                                i == 0 ? "" : ", ",
                                watch_kinds[i]);
        }
        return message_show_usage(watcher->context,
                        "--kind: expected one or more of %s; got \"%s\"",
                        known,
                        kind);
}

/* Reads a list of kinds. Replaces its commas by NULs. */
static int watcher_select(Watcher *watcher, char *list, int *ret_status) {
        char *kind;

        while ((kind = strsep(&list, ","))) {
                size_t i = 0;

                while (i < ELEMENTSOF(watch_kinds) && strcmp(watch_kinds[i], kind) != 0)
                        i++;
                if (i == ELEMENTSOF(watch_kinds)) {
                        *ret_status = watcher_refuse_kind(watcher, kind);
                        return OPTIONS_EXIT;
                }
                watcher->kinds[i] = watcher->has_kinds = true;
        }
        return 0;
}

static int watcher_parse(Watcher *watcher,
                Context *context,
                int argc,
                char **argv,
                int *ret_status) {
        int option, r;

        while ((option = options_next(context, argc, argv, "ahq", watch_options, ret_status)) >=
                        0) {
                if (option == 'a')
                        watcher->is_of_all = true;
                else if (option == OPTION_KIND) {
                        r = watcher_select(watcher, optarg, ret_status);
                        if (r < 0)
                                return r;
                }
        }
        watcher->sessions = argv + optind;
        watcher->n_sessions = argc - optind;
        return option;
}

static int watch_run_verb(Context *context, int argc, char **argv) {
        Watcher watcher = { .context = context };
        int status;

        if (watcher_parse(&watcher, context, argc, argv, &status) != OPTIONS_END)
                return status;
        watcher.prints_json = context->json != JSON_OFF || !context_is_terminal(context);
        status = watcher_conduct(&watcher);
        watcher_done(&watcher);
        return status;
}

const Verb verb_watch = {
        .name = "watch",
        .is_endless = true,
        .arguments = "[SESSION...]",
        .summary = "Print what happens to your sessions until ^C",
        .help = "Prints a line for each change of state, end, loss, limit, snapshot and\n"
                "trigger hit, also of sessions that are created later. As JSON with --json,\n"
                "or if the output is not a terminal. Losses of a session are printed once a\n"
                "second.\n"
                "\n"
                "  -a, --all-users        sessions of all users, if polkit allows it; else\n"
                "                         exit status 3\n"
                "      --kind KIND,...    only these kinds: state, ended, lost-events,\n"
                "                         snapshot-taken, notify, guard-fired, interference,\n"
                "                         limit-hit, notify-failed, spool-waits\n",
        .run = watch_run_verb,
};
