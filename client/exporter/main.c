/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ktrace-metrics: counts kernel events by the sets that the administrator has switched on, and
 * serves the numbers to monitoring systems. See ktrace-metrics(8). It is a client of ktraced
 * without rights of its own.
 *
 * The main thread handles signals: SIGTERM and SIGINT end the service, SIGHUP reads the settings
 * again. The collector's thread counts, and each output has a thread, see outputs.c.
 *
 * The main thread also reports to systemd's watchdog that the service works. It does so only while
 * the collector's thread works: without it, the outputs would serve the same old numbers for ever.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "exporter/outputs.h"
#include "interfaces/names.h"
#include "metrics/board.h"
#include "metrics/collector.h"
#include "metrics/settings.h"
#include "service/log.h"

enum {
        OPTION_HELP = 'h',
        OPTION_CONFIG_DIR = 256,
        OPTION_CHECK,
        OPTION_LIB_DIR,
        OPTION_LISTEN,
        OPTION_REPORT,
        OPTION_VERSION,
};

static const struct option options[] = {
        { "config-dir", required_argument, NULL, OPTION_CONFIG_DIR },
        { "check", no_argument, NULL, OPTION_CHECK },
        { "lib-dir", required_argument, NULL, OPTION_LIB_DIR },
        { "listen", required_argument, NULL, OPTION_LISTEN },
        { "report", required_argument, NULL, OPTION_REPORT },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { 0 },
};

#define LISTEN_MAX      8
#define WATCHDOG_LOOKS  4 /* in the time of the watchdog */
#define USEC_PER_SEC    UINT64_C(1000000)
#define HEADERS_NAME    "otlp-headers" /* the credential with the headers of the push */
#define CREDENTIALS_DIR "CREDENTIALS_DIRECTORY"

typedef struct Service {
        const char *config_dir, *lib_dir;
        const char *listen[LISTEN_MAX];
        size_t n_listen;
        const char *report; /* NULL: none */
        bool only_checks;
        char *headers_file; /* NULL: no credential */
        sd_event *event;
        Board *board;
        Outputs *outputs;
        Collector *collector;
        uint64_t watchdog_usec; /* 0: no watchdog */
        bool is_stuck;          /* the collector's thread, at the last look */
} Service;

static void metrics_print_help(void) {
        printf("ktrace-metrics [OPTION…]\n"
               "\n"
               "Counts kernel events with ktraced, and serves the numbers to monitoring systems.\n"
               "\n"
               "  --config-dir=DIR  the administrator's settings and sets (%s)\n"
               "  --lib-dir=DIR     sets as shipped (%s)\n"
               "  --listen=ADDRESS  serve HTTP on 127.0.0.1:9466, [::1]:9466, or a UNIX socket;\n"
               "                    may be repeated\n"
               "  --report=PATH     serve io.systemd.Metrics on this UNIX socket\n"
               "  --check           check the settings and the sets that they name, and exit\n"
               "  -h, --help        this text\n"
               "  --version         the version\n"
               "\n"
               "DBUS_SYSTEM_BUS_ADDRESS names the bus, KTRACE_VARLINK_ADDRESS ktraced's socket.\n"
               "systemd passes sockets as LISTEN_FDS. See ktrace-metrics(8).\n",
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
                case OPTION_LISTEN:
                        if (service->n_listen == LISTEN_MAX) {
                                fprintf(stderr,
                                                "ktrace-metrics: --listen: expected at most %d addresses\n",
                                                LISTEN_MAX);
                                return KT_EXIT_USAGE;
                        }
                        service->listen[service->n_listen++] = optarg;
                        break;
                case OPTION_CHECK:
                        service->only_checks = true;
                        break;
                case OPTION_REPORT:
                        service->report = optarg;
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

static void metrics_log(int r, const Reason *reason) {
        log_print(LOG_ERR,
                        "%s",
                        reason->text[0] ? reason->text
                        : r < 0         ? strerror(-r)
                                        : error_get(r)->text);
}

static int metrics_set_push(const Service *service, const Settings *settings, Reason *reason) {
        const OtlpSettings push = {
                .endpoint = settings->otlp_endpoint,
                .headers_file = settings->otlp_endpoint ? service->headers_file : NULL,
                .ca_file = settings->otlp_ca_file,
                .interval_usec = settings->otlp_interval_usec,
        };

        return outputs_set_push(service->outputs, &push, reason);
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
        _cleanup_(settings_free_cleanup) Settings *settings = NULL;

        Reason reason = {};

        metrics_notify_reloading();
        int r = settings_load(service->lib_dir, service->config_dir, &settings, &reason);
        r = r ?: metrics_set_push(service, settings, &reason);
        if (r == 0) {
                collector_reload(service->collector, TAKE_PTR(settings));
                log_print(LOG_INFO, "the settings were read again");
        } else {
                metrics_log(r, &reason);
                log_print(LOG_ERR, "the settings stay as they were");
        }
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

static int metrics_on_watchdog(sd_event_source *source, uint64_t usec, void *userdata) {
        Service *service = userdata;
        uint64_t silence_usec = collector_get_silence_usec(service->collector);
        bool is_stuck = silence_usec >= service->watchdog_usec;

        if (is_stuck && !service->is_stuck)
                log_print(LOG_ERR,
                                "the thread that counts hangs since %" PRIu64
                                " s: the watchdog will end the service",
                                silence_usec / USEC_PER_SEC);
        service->is_stuck = is_stuck;
        if (!is_stuck)
                (void)sd_notify(0, "WATCHDOG=1");
        int r = sd_event_source_set_time(source, usec + service->watchdog_usec / WATCHDOG_LOOKS);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int metrics_start_watchdog(Service *service) {
        int r = sd_watchdog_enabled(0, &service->watchdog_usec);

        if (r <= 0)
                return r;
        return sd_event_add_time_relative(
                        service->event, NULL, CLOCK_MONOTONIC, 0, 0, metrics_on_watchdog, service);
}

static int metrics_run(Service *service) {
        int r = metrics_watch_signals(service);

        if (r >= 0)
                r = metrics_start_watchdog(service);
        if (r < 0)
                return r;
        (void)sd_notify(0, "READY=1");
        r = sd_event_loop(service->event);
        (void)sd_notify(0, "STOPPING=1");
        return r;
}

/* systemd names the credential with the headers of the push, if the unit has one. */
static int metrics_find_headers(Service *service) {
        const char *directory = getenv(CREDENTIALS_DIR);

        if (!directory)
                return 0;
        if (asprintf(&service->headers_file, "%s/" HEADERS_NAME, directory) < 0) {
                service->headers_file = NULL;
                return -ENOMEM;
        }
        if (access(service->headers_file, F_OK) < 0) {
                free(service->headers_file);
                service->headers_file = NULL;
        }
        return 0;
}

static int metrics_open_outputs(Service *service, Reason *reason) {
        int r = outputs_take_sockets(service->outputs, reason);
        for (size_t i = 0; r == 0 && i < service->n_listen; i++)
                r = outputs_listen(service->outputs, service->listen[i], reason);
        if (r == 0 && service->report)
                r = outputs_listen_report(service->outputs, service->report, reason);
        return r;
}

static int metrics_fill(MetricSnapshot *snapshot, void *userdata) {
        return outputs_fill(userdata, snapshot);
}

static int metrics_make_outputs(Service *service) {
        service->board = board_new();
        if (!service->board)
                return -ENOMEM;
        int r = metrics_find_headers(service);
        return r ?: outputs_new(service->board, &service->outputs);
}

static int metrics_start(Service *service, Settings *settings, Reason *reason) {
        int r = metrics_make_outputs(service);
        r = r ?: metrics_open_outputs(service, reason);
        r = r ?: metrics_set_push(service, settings, reason);
        if (r != 0)
                return r;
        const CollectorOptions collecting = { service->board, metrics_fill, service->outputs };
        return collector_new(settings, &collecting, &service->collector);
}

static int metrics_open(Service *service, Reason *reason) {
        _cleanup_(settings_free_cleanup) Settings *settings = NULL;

        int r = settings_load(service->lib_dir, service->config_dir, &settings, reason);
        if (r != 0)
                return r;
        r = metrics_block_signals(); /* before there are threads */
        if (r >= 0)
                r = sd_event_new(&service->event);
        if (r < 0)
                return r;
        r = metrics_start(service, settings, reason);
        if (r == 0)
                TAKE_PTR(settings);
        return r;
}

/* The first push is an interval later, so nothing is sent. */
static int metrics_check(Service *service, Reason *reason) {
        _cleanup_(settings_free_cleanup) Settings *settings = NULL;

        int r = settings_load(service->lib_dir, service->config_dir, &settings, reason);
        r = r ?: metrics_make_outputs(service);
        return r ?: metrics_set_push(service, settings, reason);
}

static void metrics_close(Service *service) {
        service->collector = collector_free(service->collector);
        if (service->collector)
                return; /* its thread ends with the process */
        outputs_free(service->outputs);
        board_free(service->board);
        sd_event_unref(service->event);
        free(service->headers_file);
}

int main(int argc, char **argv) {
        Service service = { .config_dir = KT_CONFIG_DIR, .lib_dir = KT_LIB_DIR };

        Reason reason = {};

        int r = metrics_parse_options(&service, argc, argv);
        if (r >= 0)
                return r;
        (void)signal(SIGPIPE, SIG_IGN); /* a client that has gone */
        if (service.only_checks) {
                r = metrics_check(&service, &reason);
        } else {
                r = metrics_open(&service, &reason);
                r = r ?: metrics_run(&service);
        }
        if (r != 0)
                metrics_log(r, &reason);
        metrics_close(&service);
        return r == 0 ? KT_EXIT_OK : KT_EXIT_FAILED;
}
