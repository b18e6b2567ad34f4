/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* serve [--listen=ADDRESS]... [--report=PATH] [--otlp=URL [--headers=FILE] [--ca=FILE] [--usec=N]]
 *       [--sets=N]: the outputs of ktrace-metrics with the sample in place of a collector.
 *
 * Prints "ready". Reads commands, one per line, and answers each with a line: "next" publishes the
 * next snapshot, whose counter is higher by one; "counts" prints those of the push; "memory" and
 * "time" print the resident memory in kB and the CPU time in microseconds. Ends with the input. */

#include <getopt.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "exporter/http-server.h"
#include "exporter/listener.h"
#include "exporter/otlp-push.h"
#include "exporter/report-server.h"
#include "sample.h"

typedef struct Serve {
        Board *board;
        HttpServer *http;
        ReportServer *report;
        OtlpPush *push;
        OtlpSettings otlp;
        size_t n_sets;
        uint64_t calls;
} Serve;

static void check(int r, const Reason *reason) {
        if (r == 0)
                return;
        fprintf(stderr, "serve: %s\n", *reason->text ? reason->text : strerror(-r));
        exit(1);
}

static int open_listener(const char *address, mode_t mode) {
        Reason reason = {};
        int fd = -1;

        check(listener_open(address, mode, &fd, &reason), &reason);
        return fd;
}

static void read_options(Serve *serve, int argc, char **argv) {
        static const struct option options[] = {
                { "listen", required_argument, NULL, 'l' },
                { "report", required_argument, NULL, 'r' },
                { "otlp", required_argument, NULL, 'o' },
                { "headers", required_argument, NULL, 'h' },
                { "ca", required_argument, NULL, 'c' },
                { "usec", required_argument, NULL, 'u' },
                { "sets", required_argument, NULL, 's' },
                {},
        };
        const Reason none = {};
        int option;

        while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
                if (option == 'l')
                        check(http_server_add(serve->http, open_listener(optarg, 0660)), &none);
                else if (option == 'r')
                        check(report_server_new(serve->board,
                                              open_listener(optarg, 0666),
                                              &serve->report),
                                        &none);
                else if (option == 'o')
                        serve->otlp.endpoint = optarg;
                else if (option == 'h')
                        serve->otlp.headers_file = optarg;
                else if (option == 'c')
                        serve->otlp.ca_file = optarg;
                else if (option == 'u')
                        serve->otlp.interval_usec = strtoull(optarg, NULL, 10);
                else if (option == 's')
                        serve->n_sets = strtoul(optarg, NULL, 10);
                else
                        exit(2);
        }
}

static void print_counts(Serve *serve) {
        OtlpCounts counts = otlp_push_get_counts(serve->push);

        printf("sent=%" PRIu64 " retries=%" PRIu64 " failed=%" PRIu64 " dropped=%" PRIu64
               " rejected=%" PRIu64 " queued=%" PRIu64 "\n",
                        counts.n_sent,
                        counts.n_retries,
                        counts.n_refused,
                        counts.n_dropped,
                        counts.n_rejected_points,
                        counts.n_queued);
}

static void print_memory(void) {
        _cleanup_fclose_ FILE *file = fopen("/proc/self/smaps_rollup", "re");
        char line[256];

        while (file && fgets(line, sizeof(line), file))
                if (strncmp(line, "Rss:", 4) == 0 || strncmp(line, "Pss:", 4) == 0 ||
                                strncmp(line, "Anonymous:", 10) == 0)
                        printf("%.*s ", (int)strcspn(line, "\n"), line);
        printf("\n");
}

static void print_time(void) {
        struct rusage usage;

        (void)getrusage(RUSAGE_SELF, &usage);
        printf("%ld\n",
                        (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                                        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void run_command(Serve *serve, const char *command) {
        if (strcmp(command, "next\n") == 0) {
                board_publish(serve->board, sample_make(++serve->calls, serve->n_sets));
                printf("next\n");
        } else if (strcmp(command, "counts\n") == 0)
                print_counts(serve);
        else if (strcmp(command, "memory\n") == 0)
                print_memory();
        else if (strcmp(command, "time\n") == 0)
                print_time();
        (void)fflush(stdout);
}

int main(int argc, char **argv) {
        Serve serve = { .board = board_new(), .otlp.interval_usec = 1000000 };
        Reason reason = {};
        char line[64];

        check(http_server_new(serve.board, &serve.http), &reason);
        read_options(&serve, argc, argv);
        board_publish(serve.board, sample_make(++serve.calls, serve.n_sets));
        if (serve.otlp.endpoint)
                check(otlp_push_new(&serve.otlp, serve.board, &serve.push, &reason), &reason);
        printf("ready\n");
        (void)fflush(stdout);
        while (fgets(line, sizeof(line), stdin))
                run_command(&serve, line);
        otlp_push_free(serve.push);
        report_server_free(serve.report);
        http_server_free(serve.http);
        board_free(serve.board);
        return 0;
}
