/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The program ktrace-consumer. The daemon starts it with its control socket as fd 3, or
 * ktrace-consumer.socket does. The daemon's first message gives the process one role: a stream
 * (consumer.c), the reader of a shared instance (mux.c), an inspector of programs (inspector.c), a
 * reader of histograms (hist-reader.c), a reader of the spool (spool-reader.c) or the history of
 * tasks (history.c). The process enters the sandbox before it looks at this message, and the role
 * then decides what the sandbox forbids besides. Threads cannot be started in the sandbox, so those
 * of a stream exist in every role. */

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "consumer/consumer-report.h"
#include "consumer/consumer-spool.h"
#include "consumer/consumer.h"
#include "consumer/hist-reader.h"
#include "consumer/history.h"
#include "consumer/inspector.h"
#include "consumer/mux.h"
#include "consumer/sandbox.h"
#include "consumer/spool-reader.h"
#include "consumer/title.h"
#include "interfaces/control.h"

/* Peeks at the first message, which names the role of this process. The message stays in the
 * socket. */
static ControlMessage look_at_order(void) {
        struct pollfd wait = { .fd = CONTROL_FD, .events = POLLIN };
        ControlMessage order;

        while (poll(&wait, 1, -1) < 0 && errno == EINTR)
                ;
        ssize_t n = recv(CONTROL_FD, &order, sizeof(order), MSG_PEEK | MSG_DONTWAIT);
        return n == sizeof(order) ? order : (ControlMessage){ .type = CONTROL_SETUP };
}

/* Runs the roles without a stream. Each of them reports to the daemon how it ended. */
static bool run_other(const ControlMessage *order) {
        if (order->type == CONTROL_INSPECT)
                inspector_run(CONTROL_FD);
        else if (order->type == CONTROL_TABLES)
                hist_reader_run(CONTROL_FD);
        else if (order->type == CONTROL_SPOOL_READ)
                spool_reader_run(CONTROL_FD);
        else if (order->type == CONTROL_SHARE)
                mux_run(CONTROL_FD);
        else if (order->type == CONTROL_HISTORY)
                history_run(CONTROL_FD);
        else
                return false;
        return true;
}

static int close_sandbox(const ControlMessage *order) {
        ControlSink sink = (ControlSink)order->setup.sink;
        /* A counted stream may get any kind of reader later. */
        bool has_client = sink == CONTROL_SINK_SOCKET ||
                          (order->setup.counted && sink != CONTROL_SINK_SPOOL);

        if (sink == CONTROL_SINK_SPOOL)
                consumer_limit_spool(order);
        return sandbox_close(has_client ? SANDBOX_CLIENT_STREAM : SANDBOX_STREAM);
}

int main(int argc, char **argv) {
        static const struct option options[] = { { "user", required_argument, NULL, 'u' }, {} };
        char text[CONTROL_TEXT_MAX] = "";
        const char *user = NULL;
        Consumer c;
        int option;

        while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
                if (option != 'u')
                        return EXIT_FAILURE;
                user = optarg;
        }
        title_init(argc, argv);
        int r = consumer_init(&c);
        r = r ?: sandbox_enter(user, text, sizeof(text));
        if (r == 0) {
                const ControlMessage order = look_at_order();

                if (run_other(&order))
                        return EXIT_SUCCESS;
                r = close_sandbox(&order);
        }
        if (r < 0) {
                const char *why = text[0]          ? text
                                  : r == -ENOTSOCK ? "is started by ktraced only"
                                                   : strerror(-r);

                fprintf(stderr, "ktrace-consumer: %s\n", why);
                consumer_report(&c, CONTROL_REFUSED, -r, why);
                return EXIT_FAILURE;
        }
        return consumer_run(&c) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
