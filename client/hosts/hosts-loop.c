/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event loop of work on several machines, for hosts-record.c and hosts-run.c. It begins with
 * the machines, ticks, counts signals, and writes lines without waiting for their reader.
 *
 * A machine is begun in a turn of the loop of its own, so that machines that are connected are not
 * left waiting. At most HOSTS_LOOP_CONNECTING of them connect at one time: more would need all of
 * this machine's time, and sshd of a machine between (ProxyJump) refuses many at once (MaxStartups
 * in sshd_config(5)).
 *
 * If both outputs are one terminal, they have one outlet: what is written first is shown first.
 * Owns the loop, its sources and the outlets. */

#include "hosts/hosts-loop.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "hosts/file-limit.h"
#include "recording/watch.h"
#include "terminal/message.h"

#define HOSTS_LOOP_TICK_USEC  ((uint64_t)250 * 1000)
#define HOSTS_LOOP_BURST_USEC ((uint64_t)300 * 1000) /* as in watch.c */
/* Descriptors of a machine: three of ssh, the stream's pipe, its reader and its file. */
#define HOSTS_LOOP_FDS        12
#define HOSTS_LOOP_CONNECTING 32

static const int hosts_loop_signals[] = { SIGINT, SIGTERM, SIGHUP };

static int hosts_loop_on_signal(sd_event_source *source,
                const struct signalfd_siginfo *si,
                void *userdata) {
        HostsLoop *loop = userdata;
        uint64_t now = 0;

        (void)sd_event_now(loop->event, CLOCK_MONOTONIC, &now);
        if (loop->n_signals == 0 || now - loop->signal_usec > HOSTS_LOOP_BURST_USEC)
                loop->n_signals++;
        loop->signal_usec = now;
        loop->on_signal((int)si->ssi_signo, loop->userdata);
        return 0;
}

static int hosts_loop_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        HostsLoop *loop = userdata;

        if (loop->n_begun < loop->n_machines)
                (void)sd_event_source_set_enabled(loop->starter, SD_EVENT_ON);
        loop->on_tick(loop->userdata);
        (void)sd_event_source_set_time_relative(source, HOSTS_LOOP_TICK_USEC);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static size_t hosts_loop_count_connecting(const HostsLoop *loop) {
        size_t n = 0;

        for (size_t i = 0; i < loop->n_begun; i++)
                n += loop->is_connecting(i, loop->userdata);
        return n;
}

/* The next tick looks again whether there is room. */
static int hosts_loop_on_next(sd_event_source *source, void *userdata) {
        HostsLoop *loop = userdata;

        if (loop->n_begun == loop->n_machines ||
                        hosts_loop_count_connecting(loop) >= HOSTS_LOOP_CONNECTING)
                return sd_event_source_set_enabled(source, SD_EVENT_OFF);
        loop->n_begun++;
        loop->on_next(loop->userdata);
        return 0;
}

static void hosts_loop_on_written(Outlet *outlet, int error, void *userdata) {
        HostsLoop *loop = userdata;

        if (error != 0 && outlet == loop->sinks[0].outlet)
                loop->output_error = error;
        loop->on_room(loop->userdata);
}

static bool hosts_loop_has_one_terminal(const HostsLoop *loop) {
        struct stat out, errors;

        return loop->sinks[0].is_clean && loop->sinks[1].is_clean &&
               fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &errors) == 0 &&
               out.st_rdev == errors.st_rdev;
}

static int hosts_loop_open_sinks(HostsLoop *loop) {
        static const OutletHandlers handlers = { .on_empty = hosts_loop_on_written };
        int r = 0;

        for (int i = 0; i < 2; i++)
                loop->sinks[i].is_clean = isatty(STDOUT_FILENO + i);
        for (int i = 0; r >= 0 && i < 2; i++) {
                if (i == 1 && hosts_loop_has_one_terminal(loop))
                        loop->sinks[1].outlet = loop->sinks[0].outlet;
                else
                        r = outlet_new(loop->event,
                                        STDOUT_FILENO + i,
                                        false,
                                        &handlers,
                                        loop,
                                        &loop->sinks[i].outlet);
        }
        return r;
}

int hosts_loop_init(HostsLoop *loop, size_t n_machines, Reason *reason) {
        int r = watch_block_signals(&loop->mask);

        loop->n_machines = n_machines;
        r = r ?: file_limit_raise(n_machines * HOSTS_LOOP_FDS, n_machines, reason);
        if (r != 0)
                return r;
        /* Writers get EPIPE and EFBIG. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        r = sd_event_new(&loop->event);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(hosts_loop_signals); i++)
                r = sd_event_add_signal(loop->event,
                                &loop->signals[i],
                                hosts_loop_signals[i],
                                hosts_loop_on_signal,
                                loop);
        if (r >= 0)
                r = sd_event_add_time_relative(loop->event,
                                &loop->timer,
                                CLOCK_MONOTONIC,
                                HOSTS_LOOP_TICK_USEC,
                                0,
                                hosts_loop_on_timer,
                                loop);
        if (r >= 0)
                r = hosts_loop_open_sinks(loop);
        if (r >= 0)
                r = sd_event_add_defer(loop->event, &loop->starter, hosts_loop_on_next, loop);
        if (r >= 0)
                r = sd_event_source_set_enabled(loop->starter, SD_EVENT_ON);
        return r < 0 ? r : 0;
}

bool hosts_loop_is_flushed(const HostsLoop *loop) {
        return outlet_get_size(loop->sinks[0].outlet) == 0 &&
               outlet_get_size(loop->sinks[1].outlet) == 0;
}

void hosts_loop_print(HostsLoop *loop, const char *format, ...) {
        char text[sizeof(((Reason *)0)->text) * 2];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        message_clean(text);
        (void)outlet_put(loop->sinks[1].outlet, "ktracectl: ", strlen("ktracectl: "));
        (void)outlet_put(loop->sinks[1].outlet, text, strlen(text));
        (void)outlet_put(loop->sinks[1].outlet, "\n", 1);
}

/* What is left of a burst was for the loop. */
void hosts_loop_unblock_signals(HostsLoop *loop) {
        static const struct timespec at_once;
        sigset_t set;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < ELEMENTSOF(hosts_loop_signals); i++)
                (void)sigaddset(&set, hosts_loop_signals[i]);
        while (sigtimedwait(&set, NULL, &at_once) > 0)
                ;
        (void)sigprocmask(SIG_SETMASK, &loop->mask, NULL);
}

int hosts_loop_report_output(const HostsLoop *loop) {
        if (loop->output_error != 0 && loop->output_error != EPIPE)
                message_print("cannot write to standard output: %s", strerror(loop->output_error));
        return -loop->output_error;
}

void hosts_loop_done(HostsLoop *loop) {
        for (size_t i = 0; i < ELEMENTSOF(loop->signals); i++)
                sd_event_source_disable_unref(loop->signals[i]);
        sd_event_source_disable_unref(loop->timer);
        sd_event_source_disable_unref(loop->starter);
        if (loop->sinks[1].outlet != loop->sinks[0].outlet)
                outlet_free(loop->sinks[1].outlet);
        outlet_free(loop->sinks[0].outlet);
        sd_event_unref(loop->event);
}
