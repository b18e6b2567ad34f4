/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs `hist` with its own session, from the probe that --latency needs to the removal of that
 * probe. Read hist_run() first: it contains the steps in order. Between the steps the event loop of
 * watch.h runs, so signals are handled during a call. ^C (SIGINT, SIGTERM or SIGHUP) ends the
 * counting. With a command, the counting ends when the command ends; a second signal ends it
 * earlier. */

#include "recording/hist-run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "call/proxy-session.h"
#include "recording/child.h"
#include "recording/watch.h"
#include "spec/caret.h"
#include "terminal/message.h"

typedef struct HistRun {
        HistSpec *hist;
        Proxy *proxy;
        Watch watch;
        Child *child;
        json_object *spec;
        Origins origins; /* of the options */
        char *session;
        bool is_started;
} HistRun;

static int call(HistRun *run, const char *method, Reason *reason) {
        return proxy_order(run->proxy, run->session, method, NULL, reason);
}

static int hist_run_begin(HistRun *run, Reason *reason) {
        int r = hist_spec_define(run->hist, run->proxy, reason);

        r = r
                            ?: hist_spec_build(run->hist,
                                               run->child ? child_get_pid(run->child) : 0,
                                               &run->spec,
                                               reason);
        r = r ?: proxy_create(run->proxy, run->spec, &run->session, reason);
        r = r ?: watch_set_session(&run->watch, run->session);
        r = r ?: call(run, "Start", reason);
        run->is_started = r == 0;
        return r;
}

static bool may_end(const HistRun *run) {
        const Watch *watch = &run->watch;

        if (watch_is_cut(watch))
                return true;
        if (run->child)
                return watch->child_gone || watch->n_signals >= 2 ||
                       (watch->child_tried && watch->exec_errno != 0);
        return watch->n_signals >= 1;
}

static int hist_run_wait_for_end(HistRun *run) {
        int r = 0;

        if (run->child) {
                r = watch_add_child(&run->watch, run->child);
                r = r < 0 ? r : child_release(run->child);
        }
        while (r >= 0 && !may_end(run))
                r = watch_run(&run->watch, UINT64_MAX);
        /* From here on, one more signal ends the wait. */
        watch_set_patience(&run->watch, run->watch.n_signals + 1);
        return MIN_OF(r, 0);
}

static int report_cut(const HistRun *run, Reason *reason) {
        const Watch *watch = &run->watch;

        return reason_set(reason,
                        KT_E_FAILED,
                        "the session ended early, and its histogram with it: %s",
                        watch->ended ? watch->end_reason : "ktraced or the system bus is gone");
}

static int read_rows(HistRun *run, json_object **ret, Reason *reason) {
        int r;

        /* Sends the call again when the daemon left during the call: the next daemon has the
         * session. */
        do {
                watch_await_daemon(&run->watch);
                if (watch_is_cut(&run->watch))
                        return report_cut(run, reason);
                r = proxy_get(run->proxy, run->session, "GetHistogram", "", ret, reason);
        } while (r != 0 && run->watch.daemon_away && !run->watch.given_up);
        return r != 0 && watch_is_cut(&run->watch) ? report_cut(run, reason) : r;
}

/* Always waits for the answer, so that nothing is left in the kernel at exit. */
static int hist_run_destroy(HistRun *run) {
        Reason reason = {};
        int r = 0;

        watch_set_patience(&run->watch, run->watch.n_signals + 1);
        watch_await_daemon(&run->watch);
        if (run->session && !watch_is_cut(&run->watch))
                r = call(run, "Destroy", &reason);
        /* If the daemon left during Destroy, the next daemon reports the result. No other process
         * removes the probe. */
        watch_await_daemon(&run->watch);
        if (!run->proxy->lost) {
                Reason other = {};
                int r2 = hist_spec_undefine(run->hist, run->proxy, &other);

                if (r == 0 && r2 != 0) {
                        r = r2;
                        reason = other;
                }
        }
        return r == 0 || watch_is_cut(&run->watch) ? 0 : message_fail(r, &reason);
}

static int get_status(const HistRun *run, int r, char **command) {
        if (run->watch.exec_errno != 0) {
                message_print("cannot run '%s': %s", command[0], strerror(run->watch.exec_errno));
                return child_exec_status(run->watch.exec_errno);
        }
        if (run->child && run->is_started && r != 0)
                return KT_EXIT_RECORDING;
        return run->child && run->watch.child_gone ? run->watch.child_status : KT_EXIT_OK;
}

static int hist_run_run(HistRun *run,
                char **command,
                int (*print)(json_object *rows, void *userdata),
                void *userdata) {
        _cleanup_json_ json_object *rows = NULL;
        Reason reason = {};
        int status = 0, r = hist_run_begin(run, &reason);

        if (r == 0)
                r = hist_run_wait_for_end(run);
        if (r == 0 && run->watch.exec_errno == 0)
                r = read_rows(run, &rows, &reason);
        if (r == KT_E_CANCELLED && run->watch.given_up && !watch_is_cut(&run->watch))
                r = reason_set(&reason, r, "interrupted before it was counted");
        if (r > 0)
                hist_spec_hide_probe(run->hist, &reason);
        if (r != 0)
                status = caret_report_failure(run->spec, &run->origins, r, &reason);
        int left = hist_run_destroy(run);
        if (r == 0 && rows)
                r = print(rows, userdata);
        if (run->is_started)
                status = get_status(run, r, command) ?: status;
        return status ?: left ?: r != 0 ? KT_EXIT_FAILED : KT_EXIT_OK;
}

int hist_run(const Context *context,
                HistSpec *hist,
                char **command,
                int (*print)(json_object *rows, void *userdata),
                void *userdata) {
        ChildOptions child_options = { .has_group = context->far };
        _cleanup_(child_free_cleanup) Child *child = NULL;
        HistRun run = { .hist = hist };
        Reason reason = {};
        int status, r = watch_block_signals(&child_options.mask);

        if (r == 0 && command)
                r = child_new(command, &child_options, &child, &reason);
        /* This runs after the fork, so the command keeps its own handlers. */
        (void)signal(SIGPIPE, SIG_IGN);
        run.child = child;
        hist->spec.origins = &run.origins;
        r = r ?: proxy_open(context->door, &run.proxy, &reason);
        if (r == 0) {
                run.proxy->may_ask = context->ask_password;
                r = MIN_OF(watch_init(&run.watch, run.proxy), 0);
        }
        status = r == 0 ? hist_run_run(&run, command, print, userdata) : message_fail(r, &reason);
        watch_done(&run.watch);
        proxy_free(run.proxy);
        json_object_put(run.spec);
        origins_done(&run.origins);
        free(run.session);
        return status;
}
