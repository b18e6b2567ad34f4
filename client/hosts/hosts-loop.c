/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event loop of work on several machines, for hosts-record.c and hosts-run.c. It ticks, counts
 * signals, and writes lines without waiting for their reader. Owns the loop, its sources and the
 * outlets. */

#include "hosts/hosts-loop.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "recording/watch.h"

#define HOSTS_LOOP_TICK_USEC  ((uint64_t)250 * 1000)
#define HOSTS_LOOP_BURST_USEC ((uint64_t)300 * 1000) /* as in watch.c */
/* Descriptors of a machine: three of ssh, the stream's pipe, its reader and its file. */
#define HOSTS_LOOP_FDS 12

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

        loop->on_tick(loop->userdata);
        (void)sd_event_source_set_time_relative(source, HOSTS_LOOP_TICK_USEC);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void hosts_loop_on_written(Outlet *outlet, int error, void *userdata) {
        HostsLoop *loop = userdata;

        loop->on_room(loop->userdata);
}

/* The default limit is for programs that use select(2), which this is not. */
static int hosts_loop_raise_limit(size_t n_machines, Reason *reason) {
        rlim_t wanted = (rlim_t)n_machines * HOSTS_LOOP_FDS + 64;
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return -errno;
        if (limit.rlim_cur >= wanted)
                return 0;
        if (limit.rlim_max < wanted)
                return reason_set(reason,
                                KT_E_FAILED,
                                "-H: %zu machines need %ju open files, and the limit is %ju: raise it with 'ulimit -n'",
                                n_machines,
                                (uintmax_t)wanted,
                                (uintmax_t)limit.rlim_max);
        limit.rlim_cur = wanted;
        return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

static int hosts_loop_open_sinks(HostsLoop *loop) {
        static const OutletHandlers handlers = { .on_empty = hosts_loop_on_written };
        int r = 0;

        for (int i = 0; r >= 0 && i < 2; i++) {
                loop->sinks[i].is_clean = isatty(STDOUT_FILENO + i);
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
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        int r = watch_block_signals(&loop->mask);

        r = r ?: hosts_loop_raise_limit(n_machines, reason);
        if (r != 0)
                return r;
        /* Writers get EPIPE and EFBIG. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        r = sd_event_new(&loop->event);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(signals); i++)
                r = sd_event_add_signal(loop->event,
                                &loop->signals[i],
                                signals[i],
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
        return r < 0 ? r : 0;
}

bool hosts_loop_is_full(const HostsLoop *loop) {
        return outlet_get_size(loop->sinks[0].outlet) >= OUTLET_FULL ||
               outlet_get_size(loop->sinks[1].outlet) >= OUTLET_FULL;
}

bool hosts_loop_is_flushed(const HostsLoop *loop) {
        return outlet_get_size(loop->sinks[0].outlet) == 0 &&
               outlet_get_size(loop->sinks[1].outlet) == 0;
}

void hosts_loop_done(HostsLoop *loop) {
        for (size_t i = 0; i < ELEMENTSOF(loop->signals); i++)
                sd_event_source_disable_unref(loop->signals[i]);
        sd_event_source_disable_unref(loop->timer);
        outlet_free(loop->sinks[0].outlet);
        outlet_free(loop->sinks[1].outlet);
        sd_event_unref(loop->event);
}
