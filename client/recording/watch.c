/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event loop of `record` and `stream`. It watches signals, the command's process, the session,
 * the daemon and the bus. Handlers only set flags; the callers (recording.c, stream.c) run the
 * loop until a flag is set. Owns the loop and its sources, borrows proxy and child.
 *
 * A signal from a terminal goes to the whole foreground group, so the command has received it, too.
 * A signal that was sent only to this process is passed on to the command. Ended comes only to the
 * session's creator, and signals of other paths are ignored. */

#include "recording/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* timeout(1), sudo and others signal the process and its group, so one request causes two
 * signals. */
#define SIGNAL_BURST_USEC ((uint64_t)300 * 1000)

static const int watch_signals[] = { SIGINT, SIGTERM, SIGHUP };

int watch_block_signals(sigset_t *ret_mask) {
        sigset_t mask;

        (void)sigemptyset(&mask);
        (void)sigaddset(&mask, SIGCHLD);
        for (size_t i = 0; i < ELEMENTSOF(watch_signals); i++)
                (void)sigaddset(&mask, watch_signals[i]);
        return sigprocmask(SIG_BLOCK, &mask, ret_mask) < 0 ? -errno : 0;
}

static int watch_on_signal(sd_event_source *source,
                const struct signalfd_siginfo *si,
                void *userdata) {
        Watch *watch = userdata;
        uint64_t now = 0;

        if (sd_event_now(watch->event, CLOCK_MONOTONIC, &now) < 0 || watch->n_signals == 0 ||
                        now - watch->signal_usec > SIGNAL_BURST_USEC)
                watch->n_signals++;
        watch->signal_usec = now;
        watch->given_up = watch->n_signals >= watch->patience;
        if (watch->child && !watch->child_gone && si->ssi_code != SI_KERNEL)
                child_signal(watch->child, (int)si->ssi_signo);
        return 0;
}

static const char *watch_get_text(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

static void watch_on_session(const char *session, json_object *signal, void *userdata) {
        Watch *watch = userdata;
        json_object *end = json_object_object_get(signal, "ended");

        if (!watch->session || strcmp(session, watch->session) != 0)
                return;
        if (end) {
                watch->ended = true;
                (void)snprintf(watch->end_code,
                                sizeof(watch->end_code),
                                "%s",
                                watch_get_text(end, "code"));
                (void)snprintf(watch->end_reason,
                                sizeof(watch->end_reason),
                                "%s",
                                watch_get_text(end, "reason"));
        }
        if (watch->listener)
                watch->listener(signal, watch->userdata);
}

static void set_away(Watch *watch, bool is_away, bool is_gone) {
        watch->daemon_away = is_away;
        watch->daemon_gone = watch->daemon_gone || is_gone;
        if (is_away) {
                absence_begin(&watch->absence);
                (void)sd_event_source_set_time_relative(watch->away_timer, ABSENCE_LOOK_USEC);
        }
        (void)sd_event_source_set_enabled(watch->away_timer,
                        is_away && !watch->is_loyal ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int on_away_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Watch *watch = userdata;

        if (absence_is_over(&watch->absence)) {
                set_away(watch, false, true);
                return 0;
        }
        (void)sd_event_source_set_time_relative(source, ABSENCE_LOOK_USEC);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void on_session_sought(int result,
                const Reason *reason,
                json_object *object,
                void *userdata) {
        Watch *watch = userdata;

        watch->seeking = proxy_pending_free(watch->seeking);
        /* Any other error means that this daemon has left, too. The next daemon is awaited. */
        if (result == 0)
                set_away(watch, false, false);
        else if (result == KT_E_NO_SUCH_SESSION)
                set_away(watch, false, true);
}

/* The stream continues while the daemon is replaced. Only the next daemon knows whether it has the
 * session. */
static int seek_session(Watch *watch) {
        _cleanup_json_ json_object *arguments = json_object_new_object();

        if (!arguments || json_object_object_add(arguments,
                                          "id",
                                          json_object_new_string(watch->session)) < 0)
                return -ENOMEM;
        watch->seeking = proxy_pending_free(watch->seeking);
        return proxy_begin(watch->proxy,
                        &(ProxyCall){ .method = "GetSession", .arguments = arguments },
                        on_session_sought,
                        watch,
                        &watch->seeking);
}

static void on_daemon(bool is_there, void *userdata) {
        Watch *watch = userdata;

        if (!is_there)
                set_away(watch, watch->session, !watch->session);
        else if (watch->daemon_away && seek_session(watch) < 0)
                set_away(watch, false, true);
}

int watch_init(Watch *watch, Proxy *proxy) {
        int r;

        *watch = (Watch){ .proxy = proxy, .patience = 1 };
        r = sd_event_new(&watch->event);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(watch_signals); i++)
                r = sd_event_add_signal(watch->event,
                                &watch->signals[i],
                                watch_signals[i],
                                watch_on_signal,
                                watch);
        /* Signals have the highest priority: a flood of other events must not delay ^C. */
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(watch_signals); i++)
                r = sd_event_source_set_priority(watch->signals[i], SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_event_add_time_relative(watch->event,
                                &watch->away_timer,
                                CLOCK_MONOTONIC,
                                0,
                                0,
                                on_away_timer,
                                watch);
        if (r >= 0)
                r = sd_event_source_set_enabled(watch->away_timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        return proxy_attach(proxy,
                        watch->event,
                        &watch->given_up,
                        &(ProxyListener){ watch_on_session, on_daemon, NULL, watch });
}

void watch_done(Watch *watch) {
        for (size_t i = 0; i < ELEMENTSOF(watch->signals); i++)
                sd_event_source_disable_unref(watch->signals[i]);
        sd_event_source_disable_unref(watch->child_source);
        if (watch->child_gone)
                (void)waitpid(child_get_pid(watch->child), NULL, WNOHANG);
        sd_event_source_disable_unref(watch->outcome_source);
        sd_event_source_disable_unref(watch->away_timer);
        proxy_pending_free(watch->seeking);
        sd_event_unref(watch->event);
        free(watch->session);
        *watch = (Watch){};
}

static void watch_learn_outcome(Watch *watch) {
        if (watch->child_tried)
                return;
        watch->child_tried = true;
        watch->exec_errno = child_read_outcome(watch->child);
        watch->outcome_source = sd_event_source_disable_unref(watch->outcome_source);
}

static int on_outcome(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        watch_learn_outcome(userdata);
        return 0;
}

/* The process is not reaped yet. While its PID is in use, ktraced can assign the records of a
 * snapshot to it. */
static int on_child(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Watch *watch = userdata;
        siginfo_t si = {};

        if (waitid(P_PID, (id_t)child_get_pid(watch->child), &si, WEXITED | WNOHANG | WNOWAIT) <
                                        0 ||
                        si.si_pid == 0)
                return 0;
        watch_learn_outcome(watch);
        watch->child_gone = true;
        watch->child_status = child_exit_status(si.si_code, si.si_status);
        watch->child_source = sd_event_source_disable_unref(watch->child_source);
        return 0;
}

int watch_add_child(Watch *watch, Child *child) {
        int r = sd_event_add_io(watch->event,
                        &watch->outcome_source,
                        child_get_fd(child),
                        EPOLLIN,
                        on_outcome,
                        watch);

        if (r < 0)
                return r;
        watch->child = child;
        int fd = (int)syscall(SYS_pidfd_open, child_get_pid(child), 0);
        if (fd < 0)
                return -errno;
        r = sd_event_add_io(watch->event, &watch->child_source, fd, EPOLLIN, on_child, watch);
        if (r < 0) {
                close(fd);
                return r;
        }
        return sd_event_source_set_io_fd_own(watch->child_source, true);
}

int watch_set_session(Watch *watch, const char *session) {
        watch->session = strdup(session);
        return watch->session ? 0 : -ENOMEM;
}

void watch_set_listener(Watch *watch,
                void (*listener)(json_object *signal, void *userdata),
                void *userdata) {
        watch->listener = listener;
        watch->userdata = userdata;
}

void watch_set_loyal(Watch *watch) {
        watch->is_loyal = true;
}

void watch_set_patience(Watch *watch, unsigned n_signals) {
        watch->patience = n_signals;
        watch->given_up = watch->n_signals >= n_signals;
}

bool watch_is_cut(const Watch *watch) {
        return watch->ended || watch->daemon_gone || watch->proxy->lost;
}

bool watch_is_good_end(const char *code) {
        static const char *const codes[] = { "destroyed", "stopped", "linger-timeout" };

        for (size_t i = 0; i < ELEMENTSOF(codes); i++)
                if (strcmp(code, codes[i]) == 0)
                        return true;
        return false;
}

void watch_await_daemon(Watch *watch) {
        while (watch->daemon_away && !watch->given_up)
                if (watch_run(watch, UINT64_MAX) < 0)
                        break;
}

int watch_run(Watch *watch, uint64_t usec) {
        return sd_event_run(watch->event, usec);
}
