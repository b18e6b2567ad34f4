/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl metrics`: prints the metrics of ktrace-metrics, or writes them to a file for
 * node_exporter. Asks the service over HTTP and never calls the daemon. With -H the verb there asks
 * the service of the host. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/descriptor.h"
#include "interfaces/json.h"
#include "recording/target.h"
#include "terminal/table.h"
#include "verbs/metrics-fetch.h"
#include "verbs/verb.h"

#define TYPE_PROMETHEUS  "text/plain; version=0.0.4"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0"
#define TYPE_JSON        "application/json"
#define TEXTFILE_SUFFIX  ".prom"

enum {
        OPTION_FROM = OPTION_VERB,
        OPTION_OPENMETRICS,
};

typedef struct MetricsOptions {
        const char *from;   /* NULL: the service's own sockets */
        const char *output; /* NULL: standard output */
        bool is_openmetrics;
} MetricsOptions;

typedef struct MetricsText {
        char *data;
        size_t size;
} MetricsText;

/* absent: what to do if nothing listens at the address. */
static int metrics_fetch_from(const char *from,
                const char *type,
                const char *absent,
                MetricsText *ret,
                Reason *reason) {
        int r = metrics_fetch(from, type, &ret->data, &ret->size, reason);

        if (r == -ENOENT || r == -ECONNREFUSED)
                return reason_set(reason, KT_E_FAILED, "%s: %s", from, absent);
        if (r < 0 && r != -ENOMEM)
                return reason_set(reason, KT_E_FAILED, "%s: %s", from, strerror(-r));
        return r;
}

/* Without --from: the socket that shows everything, if the caller may use it, else the port. A file
 * is for all users, so it gets what the port shows. */
static int metrics_get(const MetricsOptions *options,
                const char *type,
                MetricsText *ret,
                Reason *reason) {
        if (options->from)
                return metrics_fetch_from(options->from,
                                type,
                                "nothing listens there: is ktrace-metrics.socket "
                                "active, with this ListenStream=?",
                                ret,
                                reason);
        if (!options->output) {
                int r = metrics_fetch(METRICS_SOCKET, type, &ret->data, &ret->size, reason);

                if (r != -EACCES && r != -ENOENT && r != -ECONNREFUSED)
                        return r;
        }
        return metrics_fetch_from(METRICS_ADDRESS,
                        type,
                        "ktrace-metrics is not running: see FIVE STEPS in ktrace-metrics(8)",
                        ret,
                        reason);
}

/* node_exporter reads the file at any time: it is complete when it gets its name. Its mode is like
 * that of the socket: a port is for all users, the path of a UNIX socket for a group. */
static int metrics_write(const MetricsOptions *options, const MetricsText *text, Reason *reason) {
        mode_t mode = options->from && options->from[0] == '/' ? 0640 : 0644;
        _cleanup_(target_free_cleanup) Target *target = NULL;

        int r = target_open(options->output, O_WRONLY | O_NONBLOCK, &target, reason);
        if (r != 0)
                return r;
        int fd = target_get_fd(target);
        r = descriptor_write_all(fd, text->data, text->size);
        if (r == 0 && target_is_new_file(target) && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
                r = -errno;
        if (r < 0)
                return target_refuse(target, -r, reason);
        return target_publish(target, reason);
}

static int metrics_print_json(const Context *context, const MetricsText *text, Reason *reason) {
        _cleanup_json_ json_object *families = NULL;
        int r = json_parse_strict("metrics", text->data, text->size, &families, reason);

        if (r == 0)
                table_print_json(context, families);
        return r > 0 ? KT_E_FAILED : r; /* not the caller's mistake */
}

static int metrics_execute(const Context *context, const MetricsOptions *options) {
        const char *type = context->json != JSON_OFF ? TYPE_JSON
                           : options->is_openmetrics ? TYPE_OPENMETRICS
                                                     : TYPE_PROMETHEUS;
        MetricsText text = {};
        Reason reason = {};
        int r = metrics_get(options, type, &text, &reason);

        if (r == 0 && options->output)
                r = metrics_write(options, &text, &reason);
        else if (r == 0 && context->json != JSON_OFF)
                r = metrics_print_json(context, &text, &reason);
        else if (r == 0)
                (void)fwrite(text.data, 1, text.size, stdout); /* main.c checks for errors */
        free(text.data);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

static bool metrics_is_textfile(const char *path) {
        size_t n = strlen(path), n_suffix = strlen(TEXTFILE_SUFFIX);

        return n > n_suffix && strcmp(path + n - n_suffix, TEXTFILE_SUFFIX) == 0;
}

static int metrics_run(Context *context, int argc, char **argv) {
        static const struct option long_options[] = { OPTIONS_GLOBAL,
                { "from", required_argument, NULL, OPTION_FROM },
                { "openmetrics", no_argument, NULL, OPTION_OPENMETRICS },
                { "output", required_argument, NULL, 'o' },
                {} };
        MetricsOptions options = {};
        int option, status;

        while ((option = options_next(context, argc, argv, "hqo:", long_options, &status)) >= 0)
                if (option == OPTION_FROM)
                        options.from = optarg;
                else if (option == OPTION_OPENMETRICS)
                        options.is_openmetrics = true;
                else
                        options.output = optarg;
        if (option == OPTIONS_END)
                option = options_count(context, argc, argv, 0, 0, &status);
        if (option == OPTIONS_EXIT)
                return status;
        if (options.output && (context->json != JSON_OFF || options.is_openmetrics))
                return message_show_usage(context,
                                "--output writes Prometheus text, without --json and --openmetrics");
        if (options.output && !metrics_is_textfile(options.output))
                return message_show_usage(context,
                                "%s: node_exporter reads only files whose name ends in " TEXTFILE_SUFFIX,
                                options.output);
        if (context->json != JSON_OFF && options.is_openmetrics)
                return message_show_usage(context, "--json and --openmetrics exclude each other");
        if (options.output && (context->host || context->far))
                return message_show_usage(context,
                                "-H: --output is for the node_exporter of this machine: print with "
                                "'> FILE', or run it there with ssh");
        return context->host ? context->run_there(context) : metrics_execute(context, &options);
}

const Verb verb_metrics = {
        .name = "metrics",
        .arguments = "[-o FILE.prom]",
        .summary = "print the metrics of ktrace-metrics",
        .help = "  --from=ADDRESS             IP address and port, or the path of a UNIX socket;\n"
                "                             default: " METRICS_SOCKET ",\n"
                "                             or else " METRICS_ADDRESS "\n"
                "  --openmetrics              OpenMetrics 1.0 instead of Prometheus text\n"
                "  -o, --output FILE.prom     replace this file at once, for node_exporter;\n"
                "                             default of --from: " METRICS_ADDRESS "\n",
        .paged = true,
        .carries = true,
        .carries_many = true,
        .far_protocol = 3,
        .run = metrics_run,
};
