/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens and closes the outputs. Called by main.c at start and for each reload; the collector asks
 * for the counts of the push in its thread.
 *
 * systemd passes the sockets by name: "http" for the HTTP server, over TCP and UNIX, and "report"
 * for Varlink. So the service needs no right to bind them, and clients that connect while it is
 * restarted wait for the next one. */

#include "exporter/outputs.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "exporter/http-server.h"
#include "exporter/listener.h"
#include "exporter/report-server.h"
#include "interfaces/text-same.h"

#define PRIVATE_MODE 0660 /* of a UNIX socket for HTTP: shows all families */
#define REPORT_MODE  0666

struct Outputs {
        Board *board;
        HttpServer *http;
        ReportServer *report;
        pthread_mutex_t lock; /* of push */
        OtlpPush *push;
        OtlpSettings push_settings; /* owns its strings */
};

int outputs_new(Board *board, Outputs **ret) {
        _cleanup_(outputs_free_cleanup) Outputs *outputs = calloc(1, sizeof(*outputs));

        if (!outputs)
                return -ENOMEM;
        outputs->board = board;
        (void)pthread_mutex_init(&outputs->lock, NULL); /* cannot fail on Linux */
        int r = http_server_new(board, &outputs->http);
        if (r == 0)
                *ret = TAKE_PTR(outputs);
        return r;
}

static void outputs_clear_settings(OtlpSettings *settings) {
        free((char *)settings->endpoint);
        free((char *)settings->headers_file);
        free((char *)settings->ca_file);
        *settings = (OtlpSettings){};
}

Outputs *outputs_free(Outputs *outputs) {
        if (!outputs)
                return NULL;
        otlp_push_free(outputs->push);
        outputs_clear_settings(&outputs->push_settings);
        report_server_free(outputs->report);
        http_server_free(outputs->http);
        (void)pthread_mutex_destroy(&outputs->lock);
        free(outputs);
        return NULL;
}

/* Sockets */

/* Consumes fd. */
static int outputs_add_report(Outputs *outputs, int fd, Reason *reason) {
        if (outputs->report) {
                close(fd);
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "expected one socket for reports (--report or FileDescriptorName=report), got another one");
        }
        return report_server_new(outputs->board, fd, &outputs->report);
}

/* Consumes fd. what: the socket, for the message. */
static int outputs_add_http(Outputs *outputs, const char *what, int fd, Reason *reason) {
        int r = http_server_add(outputs->http, fd);

        if (r == -E2BIG)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected at most %d sockets for HTTP",
                                what,
                                HTTP_SOCKETS_MAX);
        return r < 0 ? reason_set(reason, KT_E_FAILED, "cannot serve %s: %s", what, strerror(-r))
                     : 0;
}

/* Consumes fd. */
static int outputs_add_socket(Outputs *outputs, const char *name, int fd, Reason *reason) {
        if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, true) > 0) {
                if (strcmp(name, "http") == 0)
                        return outputs_add_http(outputs, "a socket of systemd", fd, reason);
                if (strcmp(name, "report") == 0 && sd_is_socket(fd, AF_UNIX, 0, -1) > 0)
                        return outputs_add_report(outputs, fd, reason);
        }
        close(fd);
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "socket %s: expected listening stream sockets with FileDescriptorName=http, "
                        "or a UNIX socket with FileDescriptorName=report",
                        name);
}

int outputs_take_sockets(Outputs *outputs, Reason *reason) {
        char **names = NULL;
        int n = sd_listen_fds_with_names(true, &names), r = n < 0 ? n : 0;

        for (int i = 0; i < n; i++) {
                if (r == 0)
                        r = outputs_add_socket(outputs, names[i], SD_LISTEN_FDS_START + i, reason);
                free(names[i]);
        }
        free(names);
        return r;
}

int outputs_listen(Outputs *outputs, const char *address, Reason *reason) {
        int fd;
        int r = listener_open(address, PRIVATE_MODE, &fd, reason);

        return r ?: outputs_add_http(outputs, address, fd, reason);
}

int outputs_listen_report(Outputs *outputs, const char *path, Reason *reason) {
        int fd;
        int r = listener_open(path, REPORT_MODE, &fd, reason);

        return r ?: outputs_add_report(outputs, fd, reason);
}

/* The push */

static bool outputs_is_same_push(const OtlpSettings *a, const OtlpSettings *b) {
        return text_is_same(a->endpoint, b->endpoint) &&
               text_is_same(a->headers_file, b->headers_file) &&
               text_is_same(a->ca_file, b->ca_file) && a->interval_usec == b->interval_usec;
}

static int outputs_copy_text(const char *text, const char **ret) {
        char *copy = text ? strdup(text) : NULL;

        if (text && !copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

static int outputs_copy_settings(const OtlpSettings *settings, OtlpSettings *ret) {
        OtlpSettings copy = { .interval_usec = settings->interval_usec };
        int r = outputs_copy_text(settings->endpoint, &copy.endpoint);

        r = r ?: outputs_copy_text(settings->headers_file, &copy.headers_file);
        r = r ?: outputs_copy_text(settings->ca_file, &copy.ca_file);
        if (r < 0)
                outputs_clear_settings(&copy);
        else
                *ret = copy;
        return r;
}

int outputs_set_push(Outputs *outputs, const OtlpSettings *settings, Reason *reason) {
        OtlpSettings copy = {};
        OtlpPush *push = NULL;

        if (outputs_is_same_push(&outputs->push_settings, settings))
                return 0;
        int r = outputs_copy_settings(settings, &copy);
        if (r == 0 && copy.endpoint)
                r = otlp_push_new(&copy, outputs->board, &push, reason);
        if (r != 0) {
                outputs_clear_settings(&copy);
                return r;
        }
        (void)pthread_mutex_lock(&outputs->lock);
        OtlpPush *before = outputs->push;
        outputs->push = push;
        (void)pthread_mutex_unlock(&outputs->lock);
        otlp_push_free(before); /* may wait for its thread */
        outputs_clear_settings(&outputs->push_settings);
        outputs->push_settings = copy;
        return 0;
}

static int outputs_add_count(MetricSnapshot *snapshot,
                const MetricHead *head,
                const char *const *results,
                const uint64_t *numbers) {
        MetricFamily *family;
        MetricPoint *point;
        int r = metric_snapshot_add(snapshot, head, &family);

        for (size_t i = 0; r == 0 && results[i]; i++) {
                r = metric_family_add(family, &results[i], &point);
                if (r == 0)
                        point->number = numbers[i];
        }
        return r;
}

static int outputs_add_counts(MetricSnapshot *snapshot, const OtlpCounts *counts) {
        static const char *const labels[] = { "result" },
                                 *const results[] = { "sent", "refused", "dropped", NULL },
                                 *const one[] = { "", NULL };
        const uint64_t numbers[] = { counts->n_sent, counts->n_refused, counts->n_dropped };
        const MetricHead snapshots = { METRIC_COUNTER,
                "ktrace_metrics_push_snapshots",
                "Snapshots that the OTLP receiver accepted or refused, or that left the full queue",
                .labels = labels,
                .n_labels = 1 };
        const MetricHead retries = { METRIC_COUNTER,
                "ktrace_metrics_push_retries",
                "OTLP requests that failed and are repeated" };
        const MetricHead rejected = { METRIC_COUNTER,
                "ktrace_metrics_push_rejected_points",
                "Numbers that the OTLP receiver rejected in snapshots that it accepted" };
        const MetricHead queued = { METRIC_GAUGE,
                "ktrace_metrics_push_queued",
                "Snapshots that wait for the OTLP receiver" };
        int r = outputs_add_count(snapshot, &snapshots, results, numbers);

        r = r ?: outputs_add_count(snapshot, &retries, one, &counts->n_retries);
        r = r ?: outputs_add_count(snapshot, &rejected, one, &counts->n_rejected_points);
        return r ?: outputs_add_count(snapshot, &queued, one, &counts->n_queued);
}

int outputs_fill(Outputs *outputs, MetricSnapshot *snapshot) {
        OtlpCounts counts = {};

        (void)pthread_mutex_lock(&outputs->lock);
        bool has_push = outputs->push;
        if (has_push)
                counts = otlp_push_get_counts(outputs->push);
        (void)pthread_mutex_unlock(&outputs->lock);
        return has_push ? outputs_add_counts(snapshot, &counts) : 0;
}
