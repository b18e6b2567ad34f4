/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl saved run: the process that runs a saved session, usually the main process of
 * ktrace-session@NAME.service. saved.c calls it. It creates and starts the session, notifies
 * systemd and waits. SIGTERM ends the session. An end of the session for any other reason is a
 * failure.
 *
 * In a service the session has the lifetime of the service. It continues when the daemon is
 * replaced, and it ends when this process ends, for whatever reason. So this process never stops
 * waiting for a daemon that is away: if it left, the recording in the kernel would end. The
 * service's status shows that the daemon is away, and the next daemon reports whether it has the
 * session. Outside a service the session has the lifetime of this process's connection. */
#include "recording/saved-run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "call/proxy-session.h"
#include "interfaces/spec-json.h"
#include "recording/watch.h"
#include "spec/caret.h"
#include "terminal/message.h"

#define CGROUP_LINE "0::"

/* The maximum time between the SIGTERM of two units at shutdown. */
#define STOP_TOO_USEC ((uint64_t)2 * 1000 * 1000)

typedef struct Run {
        Proxy *proxy;
        Watch watch;
        const char *name;
        bool is_gone; /* Destroy was called, by any client */
} Run;

/* Gets the service that contains this process, from the name of its cgroup, or "" outside a
 * service. A scope does not count: it also contains other processes. */
static void find_service(char *ret, size_t size) {
        FILE *file = fopen("/proc/self/cgroup", "re");
        char line[4096];

        *ret = '\0';
        while (file && fgets(line, sizeof(line), file)) {
                if (strncmp(line, CGROUP_LINE, strlen(CGROUP_LINE)) != 0)
                        continue;
                line[strcspn(line, "\n")] = '\0';
                const char *last = strrchr(line, '/'), *suffix = strrchr(line, '.');
                if (last && suffix > last && strcmp(suffix, ".service") == 0)
                        (void)snprintf(ret, size, "%s", last + 1);
        }
        if (file)
                (void)fclose(file);
}

static int saved_run_set_lifetime(Spec *spec, Reason *reason) {
        char service[SPEC_UNIT_MAX + 1], text[sizeof(service) + 8];

        find_service(service, sizeof(service));
        if (!*service)
                return 0; /* lifetime "client" */
        (void)snprintf(text, sizeof(text), "unit:%s", service);
        return spec_set_string(spec, "lifetime", text, reason);
}

static int saved_run_load(const SavedDirs *dirs,
                const char *name,
                json_object **ret,
                Reason *reason) {
        _cleanup_free_ char *path = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        bool has_lifetime = false;

        int r = saved_find(dirs, name, &path, reason);
        r = r ?: saved_load(path, name, &spec, &has_lifetime, reason);
        if (r == 0 && !has_lifetime)
                r = saved_run_set_lifetime(spec, reason);
        return r ?: spec_to_json(spec, ret);
}

/* Writes one line, because systemd shows one line. */
static void notify(const char *state, const char *text) {
        (void)sd_notifyf(0, "%sSTATUS=%s", state, text);
}

static int saved_run_fail(int r, const Reason *reason) {
        notify("", r > 0 && *reason->text ? reason->text : r < 0 ? strerror(-r) : "failed");
        return message_fail(r, reason);
}

static void saved_run_on_signal(json_object *signal, void *userdata) {
        Run *run = userdata;
        const char *state = json_object_get_string(json_object_object_get(signal, "state"));

        run->is_gone = run->is_gone || (state && strcmp(state, "gone") == 0);
}

static int saved_run_start(Run *run, json_object *spec, Reason *reason) {
        _cleanup_free_ char *id = NULL;

        watch_set_listener(&run->watch, saved_run_on_signal, run);
        int r = proxy_create(run->proxy, spec, &id, reason);
        r = r ?: watch_set_session(&run->watch, id);
        return r ?: proxy_order(run->proxy, id, "Start", NULL, reason);
}

static void notify_running(const Run *run, const char *state) {
        char text[128];

        (void)snprintf(text,
                        sizeof(text),
                        "Session %s is running%s",
                        run->watch.session,
                        run->watch.daemon_away ? "; ktraced is away and waited for" : "");
        notify(state, text);
}

static int saved_run_wait_for_end(Run *run) {
        bool was_away = false;
        int r = 0;

        watch_set_loyal(&run->watch);
        while (r >= 0 && run->watch.n_signals == 0 && !run->is_gone && !watch_is_cut(&run->watch)) {
                r = watch_run(&run->watch, UINT64_MAX);
                if (run->watch.daemon_away != was_away)
                        notify_running(run, "");
                was_away = run->watch.daemon_away;
        }
        return r;
}

/* This unit has no ordering after the daemon's unit, so both start at the same time. At shutdown
 * they also stop at the same time. Then the end of the session can arrive before SIGTERM. */
static bool is_stopped_too(Run *run) {
        uint64_t now = 0, until;
        int r = 0;

        if (!run->watch.ended || strcmp(run->watch.end_code, "shutdown") != 0)
                return false;
        if (sd_event_now(run->watch.event, CLOCK_MONOTONIC, &now) < 0)
                return false;
        until = now + STOP_TOO_USEC;
        while (r >= 0 && run->watch.n_signals == 0 && now < until) {
                r = watch_run(&run->watch, until - now);
                r = r < 0 ? r : sd_event_now(run->watch.event, CLOCK_MONOTONIC, &now);
        }
        return run->watch.n_signals > 0;
}

static int saved_run_end(Run *run) {
        Reason reason = {};

        notify("STOPPING=1\n", "The session is being ended");
        /* Another signal ends the wait; then the session ends with its lifetime. */
        watch_set_patience(&run->watch, run->watch.n_signals + 1);
        int r = proxy_order(run->proxy, run->watch.session, "Destroy", NULL, &reason);
        if (r != 0 && r != KT_E_NO_SUCH_SESSION)
                message_print("session %s: %s; it ends with this process", run->name, reason.text);
        return KT_EXIT_OK;
}

static int saved_run_report_end(const Run *run) {
        const Watch *watch = &run->watch;
        Reason reason = {};

        if (watch->ended)
                (void)reason_set(&reason,
                                KT_E_FAILED,
                                "session %s has ended (%s): %s",
                                run->name,
                                watch->end_code,
                                watch->end_reason);
        else if (run->is_gone)
                (void)reason_set(&reason, KT_E_FAILED, "session %s was destroyed", run->name);
        else if (watch->proxy->lost)
                (void)reason_set(&reason,
                                KT_E_FAILED,
                                "session %s: the system bus is gone, and the session with it",
                                run->name);
        else
                (void)reason_set(&reason,
                                KT_E_FAILED,
                                "session %s is gone: ktraced has restarted without it",
                                run->name);
        return saved_run_fail(KT_E_FAILED, &reason);
}

static int conduct(Run *run, json_object *spec) {
        Reason reason = {};

        int r = saved_run_start(run, spec, &reason);
        if (r != 0) {
                notify("", *reason.text ? reason.text : strerror(r < 0 ? -r : 0));
                return caret_report_failure(spec, NULL, r, &reason);
        }
        notify_running(run, "READY=1\n");
        r = saved_run_wait_for_end(run);
        if (r < 0)
                return saved_run_fail(r, &reason);
        if (run->watch.n_signals > 0)
                return saved_run_end(run);
        return is_stopped_too(run) ? KT_EXIT_OK : saved_run_report_end(run);
}

int saved_run(Context *context, const SavedDirs *dirs, const char *name) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *spec = NULL;
        Run run = { .name = name };
        Reason reason = {};

        int r = saved_run_load(dirs, name, &spec, &reason);
        r = r ?: watch_block_signals(&(sigset_t){});
        r = r ?: proxy_open(context->door, &proxy, &reason);
        if (r == 0) {
                proxy->may_ask = context->ask_password;
                run.proxy = proxy;
                r = watch_init(&run.watch, proxy);
        }
        int status = r == 0 ? conduct(&run, spec) : saved_run_fail(r, &reason);
        if (proxy)
                watch_done(&run.watch);
        return status;
}
