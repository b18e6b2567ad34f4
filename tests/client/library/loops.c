/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* loops MODE: a session of the library from its creation to its end, in each way to wait. Prints
 * the notices of the session, and on standard error those of a watch of all sessions.
 *
 *   loops calls     makes calls only
 *   loops poll      polls the connection's descriptor
 *   loops attached  the connection is attached to a loop
 *   loops bus       on a bus of the caller, in a loop of the caller
 *   loops own-bus   on a bus of the caller, without a loop
 *   loops fork      a child frees what it has inherited, and the parent goes on
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <ktrace.h>

static const char spec[] =
                "{\"scope\": \"system\", \"events\": [{\"name\": \"raw_syscalls:sys_enter\", "
                "\"filter\": \"id == 1000\"}]}";

static ktrace_error error;

static void check(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "%s: %d %s\n", what, r, error.text);
        exit(1);
}

/* Prints the notices so far. Returns whether the session is gone. */
static bool print_notices(ktrace_session *session) {
        bool is_gone = false;
        char *notice;

        while (ktrace_session_take_notice(session, &notice) == 0 && notice) {
                puts(notice);
                is_gone |= strcmp(notice, "{\"state\":\"gone\"}") == 0;
                free(notice);
        }
        return is_gone;
}

/* The same for the watch. */
static bool print_watch(ktrace *connection) {
        bool is_gone = false;
        char *notice;

        while (ktrace_take_notice(connection, &notice) == 0 && notice) {
                fprintf(stderr, "%s\n", notice);
                is_gone |= strstr(notice, "\"state\":\"gone\"") != NULL;
                free(notice);
        }
        return is_gone;
}

static void turn(const char *mode, ktrace *connection, sd_event *event) {
        struct pollfd wait = { .fd = ktrace_get_fd(connection), .events = POLLIN };

        if (strcmp(mode, "attached") == 0 || strcmp(mode, "bus") == 0)
                check(sd_event_run(event, 1000000), "sd_event_run");
        else {
                check(poll(&wait, 1, 1000), "poll");
                check(ktrace_process(connection), "ktrace_process");
        }
}

static ktrace *open_connection(const char *mode, sd_event *event) {
        bool is_in_loop = strcmp(mode, "bus") == 0;
        ktrace *connection;
        sd_bus *bus;

        if (!is_in_loop && strcmp(mode, "own-bus") != 0) {
                check(ktrace_open(0, &connection, &error), "ktrace_open");
                if (strcmp(mode, "attached") == 0)
                        check(ktrace_attach(connection, event), "ktrace_attach");
                return connection;
        }
        check(sd_bus_open_system(&bus), "sd_bus_open_system");
        if (is_in_loop)
                check(sd_bus_attach_event(bus, event, 0), "sd_bus_attach_event");
        check(ktrace_open_bus(bus, &connection, &error), "ktrace_open_bus");
        sd_bus_unref(bus);
        if (is_in_loop && ktrace_get_fd(connection) != -EOPNOTSUPP)
                exit(1);
        return connection;
}

static void free_in_child(ktrace *connection, ktrace_session *session) {
        pid_t child = fork();
        int status;

        check(child, "fork");
        if (child == 0) {
                if (ktrace_process(connection) != -ECHILD)
                        _exit(1);
                ktrace_session_free(session);
                ktrace_close(connection);
                _exit(0);
        }
        check(waitpid(child, &status, 0), "waitpid");
        if (status != 0)
                exit(1);
}

int main(int argc, char **argv) {
        const char *mode = argc == 2 ? argv[1] : "";
        ktrace_session *session;
        bool is_gone = false, is_reported = false;
        ktrace *connection;
        sd_event *event;
        char *text;

        check(sd_event_new(&event), "sd_event_new");
        connection = open_connection(mode, event);
        check(ktrace_check(connection, spec, &text, &error), "ktrace_check");
        free(text);
        check(ktrace_watch(connection, 0, &error), "ktrace_watch");
        if (ktrace_watch(connection, 0, NULL) != -EBUSY ||
                        ktrace_watch(connection, 2, NULL) != -EINVAL)
                return 1;
        check(ktrace_create(connection, spec, &session, &error), "ktrace_create");
        if (strcmp(mode, "fork") == 0)
                free_in_child(connection, session);
        check(ktrace_session_start(session, &error), "ktrace_session_start");
        check(ktrace_session_mark(session, "here", &error), "ktrace_session_mark");
        check(ktrace_session_configure(session, "{\"buffer-kb\": 2048}", &error), "configure");
        check(ktrace_session_get_statistics(session, &text, &error), "statistics");
        free(text);
        check(ktrace_call(connection, ktrace_session_get_id(session), "Stop", NULL, NULL, &error),
                        "ktrace_call");
        check(ktrace_session_destroy(session, &error), "ktrace_session_destroy");
        for (int i = 0; i < 100 && !(is_gone && is_reported); i++) {
                if (strcmp(mode, "calls") == 0)
                        check(ktrace_call(connection, NULL, "GetLimits", "{}", &text, &error),
                                        mode),
                                        free(text);
                else
                        turn(mode, connection, event);
                is_gone |= print_notices(session);
                is_reported |= print_watch(connection);
        }
        ktrace_session_free(session);
        ktrace_close(connection);
        sd_event_unref(event);
        return is_gone && is_reported ? 0 : 1;
}
