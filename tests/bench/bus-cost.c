/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What calls cost, as JSON with the median and the 99th percentile in microseconds.
 *
 *   bus-cost echo          a bare sd-bus service, org.ktrace1.Bench: answers Echo(s) with the
 * string bus-cost call-echo N   calls it bus-cost limits N      calls the daemon's GetLimits()
 *   bus-cost connect N     connects, calls it and leaves
 *   bus-cost session N     CreateSession, Start, Stop, Destroy of a session of root's, system-wide
 *   bus-cost fenced N      the same of a session that traces this process, as a user may
 *   bus-cost bare N        what such a session does in tracefs, without anything around it */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/names.h"
#include "kernel/buffer.h"
#include "kernel/instance.h"

#define ECHO_NAME "org.ktrace1.Bench"
#define ECHO_PATH "/org/ktrace1/bench"
#define BARE_ID   "be0cbe0cbe0cba4e"
#define BUFFER_KB 1024
#define N_MAX     100000

typedef int (*Operation)(sd_bus *bus);

static Tracefs *tracefs;

static int64_t now(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int method_echo(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *text;
        int r = sd_bus_message_read(m, "s", &text);

        return r < 0 ? r : sd_bus_reply_method_return(m, "s", text);
}

static const sd_bus_vtable echo_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Echo", "s", "s", method_echo, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static int serve_echo(sd_bus *bus) {
        int r = sd_bus_add_object_vtable(bus, NULL, ECHO_PATH, ECHO_NAME, echo_vtable, NULL);

        if (r >= 0)
                r = sd_bus_request_name(bus, ECHO_NAME, 0);
        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        return r;
}

static int call_echo(sd_bus *bus) {
        return sd_bus_call_method(
                        bus, ECHO_NAME, ECHO_PATH, ECHO_NAME, "Echo", NULL, NULL, "s", "x");
}

static int call_limits(sd_bus *bus) {
        return sd_bus_call_method(bus,
                        KT_BUS_NAME,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "GetLimits",
                        NULL,
                        NULL,
                        "");
}

static int call_and_leave(sd_bus *bus _unused_) {
        sd_bus *own = NULL;
        int r = sd_bus_open_system(&own);

        if (r >= 0)
                r = call_limits(own);
        sd_bus_flush_close_unref(own);
        return r;
}

static int run_session(sd_bus *bus, const char *scope) {
        static const char *const verbs[] = { "Start", "Stop", "Destroy" };
        sd_bus_message *reply = NULL;
        const char *id, *path;
        int r;

        r = sd_bus_call_method(bus,
                        KT_BUS_NAME,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "CreateSession",
                        NULL,
                        &reply,
                        "a{sv}",
                        3,
                        "scope",
                        "s",
                        scope,
                        "buffer-kb",
                        "t",
                        (uint64_t)BUFFER_KB,
                        "events",
                        "as",
                        1,
                        "raw_syscalls:sys_enter");
        if (r >= 0)
                r = sd_bus_message_read(reply, "so", &id, &path);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(verbs); i++)
                r = sd_bus_call_method(bus,
                                KT_BUS_NAME,
                                path,
                                KT_SESSION_INTERFACE,
                                verbs[i],
                                NULL,
                                NULL,
                                "");
        sd_bus_message_unref(reply);
        return r;
}

static int call_session(sd_bus *bus) {
        return run_session(bus, "system");
}

static int call_fenced(sd_bus *bus) {
        char scope[32];

        snprintf(scope, sizeof(scope), "pids:%d", getpid());
        return run_session(bus, scope);
}

static int bare_session(sd_bus *bus) {
        Instance *instance = NULL;
        int r;

        r = instance_create(tracefs, BARE_ID, &instance);
        if (r == 0)
                r = instance_set_subbuf_kb(instance, 64);
        if (r == 0 || r == -EOPNOTSUPP)
                r = tracefs_write(instance->fd, "buffer_size_kb", "1024");
        if (r == 0)
                r = tracefs_write(instance->fd, "trace_clock", "mono");
        if (r == 0)
                r = tracefs_write(instance->fd, "options/overwrite", "0");
        if (r == 0)
                r = instance_enable_event(instance, "raw_syscalls", "sys_enter", true);
        if (r == 0)
                r = instance_enable_event(instance, "raw_syscalls", "sys_enter", false);
        instance_free(instance);
        (void)instance_remove(tracefs, KT_INSTANCE_PREFIX BARE_ID);
        return r;
}

static int compare(const void *a, const void *b) {
        return (*(const double *)a > *(const double *)b) -
               (*(const double *)a < *(const double *)b);
}

static int measure(sd_bus *bus, Operation operation, size_t n) {
        static double usec[N_MAX];

        for (size_t i = 0; i < n; i++) {
                int64_t begin = now();
                int r = operation(bus);

                if (r < 0) {
                        fprintf(stderr, "bus-cost: %s\n", strerror(-r));
                        return 1;
                }
                usec[i] = (double)(now() - begin) / 1000;
        }
        qsort(usec, n, sizeof(double), compare);
        printf("{\"p50\":%.1f,\"p99\":%.1f}\n", usec[n / 2], usec[n * 99 / 100]);
        return 0;
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                Operation operation;
        } modes[] = { { "call-echo", call_echo },
                { "limits", call_limits },
                { "connect", call_and_leave },
                { "session", call_session },
                { "fenced", call_fenced },
                { "bare", bare_session } };

        size_t n = argc > 2 ? (size_t)atol(argv[2]) : 0;
        Reason reason = {};
        sd_bus *bus = NULL;

        if (argc < 2 || sd_bus_open_system(&bus) < 0)
                return 2;
        if (strcmp(argv[1], "echo") == 0)
                return serve_echo(bus) < 0;
        if (n == 0 || n > N_MAX)
                return 2;
        if (strcmp(argv[1], "bare") == 0 && tracefs_open(KT_TRACEFS_DIR, &tracefs, &reason) != 0)
                return 2; /* nobody else may */
        for (size_t i = 0; i < ELEMENTSOF(modes); i++)
                if (strcmp(argv[1], modes[i].name) == 0)
                        return measure(bus, modes[i].operation, n);
        return 2;
}
