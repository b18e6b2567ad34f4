/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl summary`: prints the numbers of a recorded trace, of a session or of a command on one
 * screen. The events of a session or a command are copied to a file without a name first. The
 * numbers come as the JSON object of export-summary.c, which --json prints as it is. Tables show
 * the first rows only, and say how many there are. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/export.h"
#include "hosts/hosts-directory.h"
#include "interfaces/json.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "recording/selection-options.h"
#include "recording/session-copy.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/activity.h"
#include "verbs/container-scope.h"
#include "verbs/record.h"
#include "verbs/summary.h"
#include "verbs/verb.h"

/* Rows of a table on the screen. */
#define ROWS_MAX 20

enum {
        OPTION_BY = OPTION_VERB,
};

typedef struct SummaryWork {
        const Context *context;
        ExportSource source;
        const char *machine; /* one of several; NULL: there is one */
        bool goes_on;        /* the recording has no end yet */
} SummaryWork;

static uint64_t get_number(json_object *object, const char *key) {
        return json_object_get_uint64(json_object_object_get(object, key));
}

static bool get_bool(json_object *object, const char *key) {
        return json_object_get_boolean(json_object_object_get(object, key));
}

typedef struct DurationText {
        char text[32];
} DurationText;

static DurationText format_duration(uint64_t nsec) {
        DurationText d;

        if (nsec < 1000)
                (void)snprintf(d.text, sizeof(d.text), "%" PRIu64 " ns", nsec);
        else if (nsec < 1000000)
                (void)snprintf(d.text, sizeof(d.text), "%.1f us", (double)nsec / 1e3);
        else if (nsec < 1000000000)
                (void)snprintf(d.text, sizeof(d.text), "%.1f ms", (double)nsec / 1e6);
        else
                (void)snprintf(d.text, sizeof(d.text), "%.3f s", (double)nsec / 1e9);
        return d;
}

/* Returns a copy of the row in which members whose keys end in nsec are texts such as "1.2 ms", and
 * members that are null say why. NULL: memory is short. */
static json_object *summary_make_readable(json_object *row) {
        json_object *copy = json_object_new_object();

        if (!copy)
                return NULL;
        json_object_object_foreach(row, key, value) {
                size_t n = strlen(key);
                bool is_time = n >= 4 && strcmp(key + n - 4, "nsec") == 0;
                json_object *shown = !value    ? json_object_new_string("not granted")
                                     : is_time ? json_object_new_string(format_duration(
                                                                 json_object_get_uint64(value))
                                                                                        .text)
                                               : json_object_get(value);

                if (!shown || json_object_object_add(copy, key, shown) != 0) {
                        json_object_put(shown);
                        json_object_put(copy);
                        return NULL;
                }
        }
        return copy;
}

/* Prints the first rows. Returns 0 or -ENOMEM. */
static int summary_print_rows(const Context *context,
                const char *title,
                json_object *rows,
                const TableColumn *columns,
                size_t n_columns) {
        size_t n = json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;
        _cleanup_json_ json_object *shown = json_object_new_array();

        if (!shown)
                return -ENOMEM;
        if (n == 0)
                return 0;
        for (size_t i = 0; i < MIN_OF(n, (size_t)ROWS_MAX); i++) {
                json_object *row = summary_make_readable(json_object_array_get_idx(rows, i));

                if (!row || json_object_array_add(shown, row) != 0) {
                        json_object_put(row);
                        return -ENOMEM;
                }
        }
        printf("\n%s\n", title);
        table_print(context, shown, columns, n_columns, NULL);
        if (n > ROWS_MAX)
                printf("and %zu more: see --json\n", n - ROWS_MAX);
        return 0;
}

static void summary_print_head(const char *name, json_object *root) {
        char events[TABLE_NUMBER_MAX], lost[TABLE_NUMBER_MAX];

        printf("%s: %s, %" PRIu64 " CPUs, %" PRIu64 " threads, %s events, %s%s lost%s\n",
                        name,
                        format_duration(get_number(root, "duration-nsec")).text,
                        get_number(root, "cpus"),
                        get_number(root, "threads"),
                        table_format_number(events, get_number(root, "total-events")),
                        get_bool(root, "lost-more") ? "more than " : "",
                        table_format_number(lost, get_number(root, "lost-events")),
                        get_bool(root, "own-processes-only") ? " (own processes only)" : "");
        if (get_number(root, "lost-events") > 0 || get_bool(root, "lost-more"))
                printf("Events were lost: counts and times are at least as large as shown.\n");
}

static int summary_print_calls(const Context *context, json_object *root) {
        static const TableColumn columns[] = {
                { "name", "Call", false },
                { "thread", "Thread", true },
                { "thread-name", "Name", false },
                { "count", "Count", true },
                { "errors", "Errors", true },
                { "total-nsec", "Total", true },
                { "mean-nsec", "Mean", true },
                { "p50-nsec", "p50", true },
                { "p95-nsec", "p95", true },
                { "p99-nsec", "p99", true },
                { "max-nsec", "Max", true },
        };
        json_object *calls = json_object_object_get(root, "calls");
        TableColumn shown[ELEMENTSOF(columns)];
        size_t n = 0;

        if (json_object_array_length(calls) == 0)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(columns); i++) {
                bool is_of_thread = strncmp(columns[i].key, "thread", 6) == 0;

                if (!is_of_thread || json_object_object_get(
                                                     json_object_array_get_idx(calls, 0), "thread"))
                        shown[n++] = columns[i];
        }
        return summary_print_rows(context, "System calls", calls, shown, n);
}

static void summary_print_waits(const char *title, json_object *waits) {
        printf("%s: %" PRIu64 ", mean %s, p50 %s, p95 %s, p99 %s, max %s\n",
                        title,
                        get_number(waits, "count"),
                        format_duration(get_number(waits, "mean-nsec")).text,
                        format_duration(get_number(waits, "p50-nsec")).text,
                        format_duration(get_number(waits, "p95-nsec")).text,
                        format_duration(get_number(waits, "p99-nsec")).text,
                        format_duration(get_number(waits, "max-nsec")).text);
}

static int summary_print_scheduler(const Context *context, json_object *root) {
        static const TableColumn threads[] = {
                { "thread", "Thread", true },
                { "name", "Name", false },
                { "running-nsec", "On CPU", true },
                { "waiting-nsec", "Waiting", true },
                { "interruptible-nsec", "Sleeping", true },
                { "uninterruptible-nsec", "In D state", true },
                { "other-sleep-nsec", "Other", true },
                { "switches", "Switches", true },
        };
        static const TableColumn waits[] = {
                { "nsec", "Waited", true },
                { "thread", "Thread", true },
                { "name", "Name", false },
                { "cpu", "CPU", true },
                { "other-thread", "Ran before", true },
                { "other-name", "Name", false },
        };
        json_object *scheduler = json_object_object_get(root, "scheduler");

        if (!scheduler)
                return 0;
        if (!get_bool(scheduler, "granted")) {
                printf("\nScheduler: not granted. The recording has no switches to its processes.\n");
                return 0;
        }
        int r = summary_print_rows(context,
                        "Threads",
                        json_object_object_get(scheduler, "threads"),
                        threads,
                        ELEMENTSOF(threads));
        r = r
                            ?: summary_print_rows(context,
                                               "Longest waits for a CPU",
                                               json_object_object_get(scheduler, "longest-waits"),
                                               waits,
                                               ELEMENTSOF(waits));
        if (r < 0)
                return r;
        printf("\n");
        summary_print_waits("Waits for a CPU", json_object_object_get(scheduler, "waits"));
        if (get_bool(scheduler, "has-wakeups"))
                summary_print_waits("From wake-up to CPU",
                                json_object_object_get(scheduler, "wakeups"));
        else
                printf("No wake-up events: waits after a sleep count as sleep.\n");
        if (!get_bool(scheduler, "others-granted"))
                printf("Other tasks: not granted.\n");
        return 0;
}

static int summary_print_io(const Context *context, json_object *root) {
        static const TableColumn block[] = {
                { "device", "Device", false },
                { "direction", "Direction", false },
                { "count", "Requests", true },
                { "bytes", "Bytes", true },
                { "mean-nsec", "Mean", true },
                { "p50-nsec", "p50", true },
                { "p95-nsec", "p95", true },
                { "p99-nsec", "p99", true },
                { "max-nsec", "Max", true },
        };
        static const TableColumn network[] = {
                { "device", "Device", false },
                { "direction", "Direction", false },
                { "count", "Packets", true },
                { "bytes", "Bytes", true },
        };
        int r = summary_print_rows(context,
                        "Block devices",
                        json_object_object_get(root, "block"),
                        block,
                        ELEMENTSOF(block));

        return r
                               ?: summary_print_rows(context,
                                                  "Network devices",
                                                  json_object_object_get(root, "network"),
                                                  network,
                                                  ELEMENTSOF(network));
}

static int summary_print(const SummaryWork *work, const char *text) {
        static const TableColumn events[] = {
                { "event", "Event", false },
                { "count", "Count", true },
        };
        _cleanup_json_ json_object *root = json_tokener_parse(text);
        const Context *context = work->context;

        if (!root)
                return -ENOMEM;
        if (work->machine &&
                        json_object_object_add(
                                        root, "machine", json_object_new_string(work->machine)) < 0)
                return -ENOMEM;
        if (context->json != JSON_OFF) {
                table_print_json(context, root);
                return 0;
        }
        summary_print_head(work->machine ?: work->source.name, root);
        int r = summary_print_rows(context,
                        "Events",
                        json_object_object_get(root, "events"),
                        events,
                        ELEMENTSOF(events));
        r = r ?: summary_print_calls(context, root);
        r = r ?: summary_print_scheduler(context, root);
        return r ?: summary_print_io(context, root);
}

/* In the isolated process. */
static int summary_work(void *argument) {
        const SummaryWork *work = argument;
        _cleanup_free_ char *text = NULL;
        ExportSummary summary;
        Reason reason = {};
        size_t size;
        FILE *out = open_memstream(&text, &size);

        if (!out)
                return input_report_failure(work->source.name, NULL, -ENOMEM, &reason);
        int r = export_source(&work->source, EXPORT_SUMMARY, out, &summary, &reason);

        if (fclose(out) != 0)
                r = r ?: -ENOMEM;
        r = r ?: summary_print(work, text);
        if (r != 0)
                return input_report_failure(work->source.name, stdout, r, &reason);
        summary.n_lost = 0; /* the first line has said it */
        if (work->goes_on)
                return KT_EXIT_OK;
        return input_report_summary(work->context, work->source.name, &summary);
}

typedef struct SummaryOptions {
        SelectionOptions selection;
        const char *by;
        char **command;
        bool is_all;
} SummaryOptions;

/* Returns OPTIONS_END, or OPTIONS_EXIT. */
static int summary_parse(Context *context,
                int argc,
                char **argv,
                SummaryOptions *o,
                int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                SELECTION_OPTIONS,
                { "all", no_argument, NULL, 'a' },
                { "by", required_argument, NULL, OPTION_BY },
                {} };
        int option;

        while ((option = options_next(context, argc, argv, "ahq", options, ret_status)) >= 0)
                if (option == 'a')
                        o->is_all = true;
                else if (!selection_options_take(&o->selection, option, optarg))
                        o->by = optarg;
        if (option == OPTIONS_END && optind < argc && strcmp(argv[optind - 1], "--") == 0)
                o->command = argv + optind;
        return option;
}

static int summary_print_file(SummaryWork *work, int fd, const char *name) {
        work->source.fd = fd;
        work->source.name = name;
        return isolation_run(name, summary_work, work);
}

int summary_print_opened(const Context *context,
                const Selection *selection,
                int fd,
                const char *name) {
        SummaryWork work = { .context = context,
                .source = { .seal = isolation_seal, .selection = selection } };

        return summary_print_file(&work, fd, name);
}

static int summary_read_machine(SummaryWork *work,
                int directory_fd,
                const Manifest *manifest,
                size_t i) {
        _cleanup_close_ int fd = -1;
        Reason reason = {};
        int r = hosts_directory_open_file(directory_fd, manifest, i, &fd, &reason);

        if (r != 0)
                return input_report_failure(manifest->machines[i].file, NULL, r, &reason);
        work->machine = manifest->machines[i].host;
        return summary_print_file(work, fd, manifest->machines[i].file);
}

/* The machines one after the other. One whose recording cannot be read does not hide the others. */
static int summary_read_machines(SummaryWork *work, const char *path) {
        _cleanup_(manifest_free_cleanup) Manifest *manifest = NULL;
        _cleanup_close_ int directory_fd = -1;
        Reason reason = {};
        int status = KT_EXIT_OK, lacks;
        int r = hosts_directory_open(path, &directory_fd, &manifest, &reason);

        if (r != 0)
                return input_report_failure(path, NULL, r, &reason);
        for (size_t i = 0; i < manifest->n_machines; i++)
                if (manifest->machines[i].file &&
                                summary_read_machine(work, directory_fd, manifest, i) != KT_EXIT_OK)
                        status = KT_EXIT_LOST;
        lacks = hosts_directory_report(manifest, work->context);
        return lacks == KT_EXIT_OK ? status : lacks;
}

static int summary_read(SummaryWork *work, int n, char **paths) {
        _cleanup_close_ int fd = -1;
        const char *name;
        Reason reason = {};
        int r = input_open_all(paths, n, &fd, &name, &reason);

        return r != 0 ? input_report_failure(name, NULL, r, &reason)
                      : summary_print_file(work, fd, name);
}

static int summary_copy(SummaryWork *work, const char *name, int fd, Reason *reason) {
        Proxy *proxy = NULL;
        int r = proxy_open(work->context->door, &proxy, reason);

        r = r ?: session_copy(proxy, name, fd, &work->goes_on, reason);
        proxy_free(proxy);
        if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = -errno;
        return r;
}

static int summary_read_session(SummaryWork *work, const char *name) {
        _cleanup_close_ int fd = -1;
        Reason reason = {};
        int r = input_open_temporary(&fd);

        r = r ?: summary_copy(work, name, fd, &reason);
        if (r == KT_E_NO_SUCH_SESSION)
                r = reason_set(&reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such file, and no such session or recording of yours: see "
                                "'ktracectl list' and 'ktracectl spool list'",
                                name);
        return r != 0 ? message_fail(r, &reason) : summary_print_file(work, fd, name);
}

/* A file comes first. A path is never the name of a session. With -H, files are not those of the
 * host: only its sessions can be meant. */
static bool is_session(const Context *context, int n, char **names) {
        return n == 1 && strcmp(names[0], "-") != 0 && !strchr(names[0], '/') &&
               (context->far || (access(names[0], F_OK) < 0 && errno == ENOENT));
}

/* Records the command into a file without a name. Returns the status of record. */
static int summary_record(const SummaryOptions *o, const Context *context, int fd) {
        Context quiet = *context;
        RecordOptions record;
        char path[32];
        Reason reason = {};
        int status, r = record_init(&record);

        if (r < 0)
                return message_fail(r, NULL);
        (void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
        record.path = path;
        record.format = "kts";
        record.command = o->command;
        quiet.quiet = true;
        r = o->is_all ? spec_options_take(&record.spec, 'a', NULL, &reason) : 0;
        r = r ?: container_scope_take(&record.spec, context, &reason);
        r = r ?: activity_add_events(&record.spec, &quiet, true, o->is_all, &reason);
        status = r == 0 ? record_conduct(&record, &quiet) : message_fail(r, &reason);
        record_done(&record);
        return status;
}

/* Returns the command's status, as record does. */
static int summary_run_command(SummaryWork *work, const SummaryOptions *o) {
        _cleanup_close_ int fd = -1;
        struct stat file = {};
        int r = input_open_temporary(&fd);

        if (r < 0)
                return message_fail(r, NULL);
        int status = summary_record(o, work->context, fd);

        if (fstat(fd, &file) < 0 || file.st_size == 0) /* record has reported why */
                return status;
        int printed = summary_print_file(work, fd, o->command[0]);

        return status != KT_EXIT_OK ? status : printed;
}

static int summary_run(Context *context, int argc, char **argv) {
        SummaryWork work = { .context = context, .source.seal = isolation_seal };
        SummaryOptions o = { .by = "call" };
        Reason reason = {};
        int status;

        if (summary_parse(context, argc, argv, &o, &status) != OPTIONS_END)
                return status;
        if (optind >= argc || ((o.is_all || context->container) && !o.command))
                return message_show_usage(context,
                                "expected a FILE, '-' for standard input, a SESSION, or [-a] [-M CONTAINER] -- CMD");
        if (strcmp(o.by, "call") != 0 && strcmp(o.by, "thread") != 0)
                return message_show_usage(
                                context, "--by: expected call or thread, got \"%s\"", o.by);
        int r = selection_options_finish(&o.selection, &reason);

        if (r != 0)
                return message_fail(r, &reason);
        work.source.selection = &o.selection.selection;
        work.source.by_thread = strcmp(o.by, "thread") == 0;
        if (o.command)
                return summary_run_command(&work, &o);
        if (is_session(context, argc - optind, argv + optind))
                return summary_read_session(&work, argv[optind]);
        if (context->far)
                return message_show_usage(context,
                                "-H: files are read here: expected a SESSION or [-a] -- CMD of the "
                                "host, or summary without -H");
        if (argc - optind == 1 && hosts_is_directory(argv[optind]))
                return summary_read_machines(&work, argv[optind]);
        return summary_read(&work, argc - optind, argv + optind);
}

const Verb verb_summary = {
        .name = "summary",
        .arguments = "FILE... | DIRECTORY | SESSION | [-a] -- CMD...",
        .summary = "Print the numbers of a recorded trace, a session or a command on one screen",
        .help = "FILE is as for 'report'. The DIRECTORY is a recording of several machines; those\n"
                "follow one another. A SESSION is a flight recorder or is recorded to disk; it\n"
                "goes on. With CMD, its system calls and, if policy allows it, its switches are\n"
                "recorded; with -a also wake-ups, block and network devices of the whole system\n"
                "while it runs. Prints the number of each event, the system calls with their\n"
                "durations, the time of each thread on a CPU, waiting for one and sleeping, and the\n"
                "requests of block and network devices, as far as the trace has such events.\n"
                "Percentiles are at most 1.6 % away from the exact values.\n"
                "\n"
                "  --by WHAT            system calls by call (default), or by thread and call\n"
                "  --json               all rows as one object (for each machine); its schema is\n"
                "                       installed as summary.schema.json\n" SELECTION_HELP "\n"
                "  -a, --all            with CMD: record the whole system\n"
                "\n"
                "The exit status is 4 if the trace was cut. With CMD it is as with 'record'.\n",
        .traces = true,
        .run = summary_run,
};
