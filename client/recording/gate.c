/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lets a recording of several machines start on all of them at one time. recording.c calls it
 * between the creation of the session and its start. far.c has the other end of the socket, and
 * passes the messages on. The time is that of this machine's CLOCK_MONOTONIC: whoever sends it has
 * compared the clocks, so a wrong time of day changes nothing.
 *
 * A time that has passed starts the recording at once. Owns nothing. */

#include "recording/gate.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

typedef struct Gate {
        bool has_answer, is_open;
        GateTime start;
        int error;
} Gate;

static int gate_on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Gate *gate = userdata;
        ssize_t n = recv(fd, &gate->start, sizeof(gate->start), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        gate->has_answer = true;
        if (n != sizeof(gate->start))
                gate->error = n < 0 ? -errno : -ECONNRESET;
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static int gate_on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Gate *gate = userdata;

        gate->is_open = true;
        return 0;
}

/* Runs the loop until the flag is set. */
static int gate_run(const Gate *gate, const bool *flag, Watch *watch, Reason *reason) {
        while (!*flag && gate->error == 0) {
                int r = watch_run(watch, UINT64_MAX);

                if (r < 0)
                        return r;
                if (watch->n_signals > 0 || watch_is_cut(watch))
                        return reason_set(reason,
                                        KT_E_CANCELLED,
                                        "the recording ended before its start");
        }
        return gate->error;
}

int gate_await(int fd, Watch *watch, Reason *reason) {
        sd_event_source *answer = NULL, *time = NULL;
        Gate gate = {};
        int r = 0;

        if (send(fd, GATE_ARMED, strlen(GATE_ARMED), MSG_NOSIGNAL) < 0)
                r = -errno;
        if (r >= 0)
                r = sd_event_add_io(watch->event, &answer, fd, EPOLLIN, gate_on_readable, &gate);
        if (r >= 0)
                r = gate_run(&gate, &gate.has_answer, watch, reason);
        if (r == 0) /* accuracy 1: 0 is the default, which is coarse */
                r = sd_event_add_time(watch->event,
                                &time,
                                CLOCK_MONOTONIC,
                                gate.start / 1000,
                                1,
                                gate_on_time,
                                &gate);
        if (r >= 0)
                r = r ?: gate_run(&gate, &gate.is_open, watch, reason);
        sd_event_source_disable_unref(answer);
        sd_event_source_disable_unref(time);
        return r;
}

void gate_report_start(int fd) {
        struct timespec now;
        GateTime time;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        /* When the far side is gone, this process gets SIGHUP. */
        (void)!send(fd, &time, sizeof(time), MSG_NOSIGNAL);
}
