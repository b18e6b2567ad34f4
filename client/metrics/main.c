/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ktrace-metrics: counts kernel events by the sets that the administrator has switched on, and
 * serves the numbers to monitoring systems. See ktrace-metrics(8). It is a client of ktraced
 * without rights of its own.
 *
 * The main thread serves, and handles signals: SIGTERM and SIGINT end the service, SIGHUP reads the
 * settings again. The collector's thread counts. */

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "interfaces/names.h"
#include "metrics/board.h"
#include "metrics/collector.h"
#include "metrics/notice.h"
#include "metrics/settings.h"

enum {
        OPTION_HELP = 'h',
        OPTION_CONFIG_DIR = 256,
        OPTION_LIB_DIR,
        OPTION_VERSION,
};

static const struct option options[] = {
        { "config-dir", required_argument, NULL, OPTION_CONFIG_DIR },
        { "lib-dir", required_argument, NULL, OPTION_LIB_DIR },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { 0 },
};

typedef struct Service {
        const char *config_dir, *lib_dir;
        sd_event *event;
        Board *board;
        Collector *collector;
} Service;

static void metrics_print_help(void) {
        printf("ktrace-metrics [OPTION…]\n"
               "\n"
               "Counts kernel events with ktraced, and serves the numbers to monitoring systems.\n"
               "\n"
               "  --config-dir=DIR  the administrator's settings and sets (%s)\n"
               "  --lib-dir=DIR     sets as shipped (%s)\n"
               "  -h, --help        this text\n"
               "  --version         the version\n"
               "\n"
               "DBUS_SYSTEM_BUS_ADDRESS names the bus, KTRACE_VARLINK_ADDRESS ktraced's socket.\n"
               "See ktrace-metrics(8).\n",
                        KT_CONFIG_DIR,
                        KT_LIB_DIR);
}

/* Returns an exit status, or -1 to continue. */
static int metrics_parse_options(Service *service, int argc, char **argv) {
        int option;

        while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
                switch (option) {
                case OPTION_CONFIG_DIR:
                        service->config_dir = optarg;
                        break;
                case OPTION_LIB_DIR:
                        service->lib_dir = optarg;
                        break;
                case OPTION_HELP:
                        metrics_print_help();
                        return KT_EXIT_OK;
                case OPTION_VERSION:
                        puts("ktrace-metrics " KT_VERSION);
                        return KT_EXIT_OK;
                default:
                        return KT_EXIT_USAGE;
                }
        if (optind < argc) {
                fprintf(stderr,
                                "ktrace-metrics: expected no argument, got \"%s\"; see --help\n",
                                argv[optind]);
                return KT_EXIT_USAGE;
        }
        return -1;
}

/* Logs why settings cannot be used. */
static int metrics_load(const Service *service, Settings **ret) {
        Reason reason = {};

        int r = settings_load(service->lib_dir, service->config_dir, ret, &reason);
        if (r != 0)
                notice_print(LOG_ERR,
                                "%s",
                                reason.text[0] ? reason.text
                                : r < 0        ? strerror(-r)
                                               : error_get(r)->text);
        return r;
}

static void metrics_notify_reloading(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        (void)sd_notifyf(0,
                        "RELOADING=1\nMONOTONIC_USEC=%llu",
                        (unsigned long long)now.tv_sec * 1000000 +
                                        (unsigned long long)now.tv_nsec / 1000);
}

static int metrics_on_reload(sd_event_source *source _unused_,
                const struct signalfd_siginfo *info _unused_,
                void *userdata) {
        Service *service = userdata;
        Settings *settings = NULL;

        metrics_notify_reloading();
        if (metrics_load(service, &settings) == 0) {
                collector_reload(service->collector, settings);
                notice_print(LOG_INFO, "the settings were read again");
        } else
                notice_print(LOG_ERR, "the settings stay as they were");
        (void)sd_notify(0, "READY=1");
        return 0;
}

static int metrics_block_signals(void) {
        sigset_t set;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigaddset(&set, SIGHUP);
        return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int metrics_watch_signals(Service *service) {
        int r = sd_event_add_signal(service->event, NULL, SIGTERM, NULL, NULL);

        if (r >= 0)
                r = sd_event_add_signal(service->event, NULL, SIGINT, NULL, NULL);
        if (r >= 0)
                r = sd_event_add_signal(service->event, NULL, SIGHUP, metrics_on_reload, service);
        return r;
}

static int metrics_run(Service *service) {
        int r = metrics_watch_signals(service);

        if (r >= 0)
                r = sd_event_set_watchdog(service->event, true);
        if (r < 0)
                return r;
        (void)sd_notify(0, "READY=1");
        r = sd_event_loop(service->event);
        (void)sd_notify(0, "STOPPING=1");
        return r;
}

static int metrics_open(Service *service) {
        _cleanup_(settings_free_cleanup) Settings *settings = NULL;

        int r = metrics_load(service, &settings);
        if (r != 0)
                return r;
        r = metrics_block_signals();
        if (r >= 0)
                r = sd_event_new(&service->event);
        if (r < 0)
                return r;
        service->board = board_new();
        if (!service->board)
                return -ENOMEM;
        r = collector_new(settings, service->board, &service->collector);
        if (r == 0)
                TAKE_PTR(settings);
        return r;
}

static void metrics_close(Service *service) {
        service->collector = collector_free(service->collector);
        if (service->collector)
                return; /* its thread ends with the process */
        board_free(service->board);
        sd_event_unref(service->event);
}

int main(int argc, char **argv) {
        Service service = { .config_dir = KT_CONFIG_DIR, .lib_dir = KT_LIB_DIR };

        int r = metrics_parse_options(&service, argc, argv);
        if (r >= 0)
                return r;
        (void)signal(SIGPIPE, SIG_IGN); /* a client that has gone */
        r = metrics_open(&service);
        if (r == 0)
                r = metrics_run(&service);
        if (r < 0)
                notice_print(LOG_ERR, "ends: %s", strerror(-r));
        metrics_close(&service);
        return r == 0 ? KT_EXIT_OK : KT_EXIT_FAILED;
}
