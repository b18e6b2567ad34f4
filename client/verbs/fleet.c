/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl fleet: lists and fetches recordings that ktrace-ship of any machine has sent to the
 * broker. ktrace-fleet speaks with the broker, in a process of its own: it gets the output as
 * standard output, or a pipe for the list. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "export/export.h"
#include "interfaces/ascii.h"
#include "recording/input.h"
#include "recording/output.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "trace/selection-time.h"
#include "verbs/verb.h"

#define FLEET_WORDS_MAX 16
#define LINE_MAX_BYTES  16384
#define NSEC_PER_USEC   1000

typedef struct FleetOptions {
        const char *output, *format;
        SelectionTime from, until;
        char *words[FLEET_WORDS_MAX]; /* of ktrace-fleet */
        size_t n_words;
} FleetOptions;

static void fleet_add_word(FleetOptions *o, const char *word) {
        o->words[o->n_words++] = (char *)word;
}

/* The verb of ktrace-fleet with its arguments. second: NULL for none. */
static void fleet_add_words(FleetOptions *o,
                const char *verb,
                const char *first,
                const char *second) {
        fleet_add_word(o, "--");
        fleet_add_word(o, verb);
        fleet_add_word(o, first);
        if (second)
                fleet_add_word(o, second);
}

/* Starts ktrace-fleet with these words; its standard output is `out`. */
static int fleet_spawn(FleetOptions *o, int out, pid_t *ret, Reason *reason) {
        static const char program[] = KT_FLEET_BINARY;

        o->words[0] = (char *)program;
        o->words[o->n_words] = NULL;
        if (access(program, X_OK) < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: %s: install the package ktrace-ship",
                                program,
                                strerror(errno));
        (void)fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                /* A killed ktracectl leaves nothing that goes on following. */
                (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
                if (out == STDOUT_FILENO || dup2(out, STDOUT_FILENO) >= 0)
                        (void)execv(program, o->words);
                _exit(KT_EXIT_NOT_EXECUTABLE);
        }
        *ret = pid;
        return 0;
}

/* Returns its exit status. It has reported its errors itself. */
static int fleet_wait(pid_t pid) {
        int status = 0;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return KT_EXIT_FAILED;
        return WIFEXITED(status) ? WEXITSTATUS(status) : KT_EXIT_FAILED;
}

/* Also if a part of it is missing. */
static bool fleet_has_result(int status) {
        return status == KT_EXIT_OK || status == KT_EXIT_LOST;
}

/* The list */

static uint64_t fleet_number(json_object *row, const char *key) {
        return json_object_get_uint64(json_object_object_get(row, key));
}

static void fleet_put_time(json_object *row, const char *key, uint64_t usec) {
        time_t sec = (time_t)(usec / 1000000);
        char text[32] = "-";
        struct tm tm;

        if (sec > 0 && localtime_r(&sec, &tm))
                (void)strftime(text, sizeof(text), "%F %T", &tm);
        (void)json_object_object_add(row, key, json_object_new_string(text));
}

/* A recording without an end reaches up to now. */
static bool fleet_is_selected(const FleetOptions *o, json_object *row) {
        uint64_t begin = fleet_number(row, "created-usec"), end = fleet_number(row, "ended-usec");

        return (o->from.kind == SELECTION_TIME_NONE || end == 0 ||
                               end >= o->from.ns / NSEC_PER_USEC) &&
               (o->until.kind == SELECTION_TIME_NONE || begin < o->until.ns / NSEC_PER_USEC);
}

static int fleet_print_list(const Context *context, const FleetOptions *o, json_object *list) {
        static const TableColumn columns[] = {
                { "host", "HOST", false },
                { "machine", "MACHINE", false },
                { "session", "SESSION", false },
                { "name", "NAME", false },
                { "state", "STATE", false },
                { "uid", "UID", true },
                { "created", "BEGUN", false },
                { "ended", "ENDED", false },
                { "lost", "LOST", true },
        };
        _cleanup_json_ json_object *rows = json_object_new_array();

        if (!rows)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *row = json_object_array_get_idx(list, i);

                if (!fleet_is_selected(o, row))
                        continue;
                if (context->json == JSON_OFF) {
                        fleet_put_time(row, "created", fleet_number(row, "created-usec"));
                        fleet_put_time(row, "ended", fleet_number(row, "ended-usec"));
                }
                (void)json_object_array_add(rows, json_object_get(row));
        }
        if (context->json != JSON_OFF)
                table_print_json(context, rows);
        else
                table_print(context, rows, columns, ELEMENTSOF(columns), "recording");
        return 0;
}

static int fleet_add_row(json_object *list, const char *text, size_t size, Reason *reason) {
        json_object *row = NULL;

        int r = json_parse_strict("ktrace-fleet", text, size, &row, reason);
        if (r == 0 && !json_object_is_type(row, json_type_object))
                r = reason_set(reason, KT_E_FAILED, "expected recordings from ktrace-fleet");
        if (r == 0 && json_object_array_add(list, row) < 0)
                r = -ENOMEM;
        if (r != 0)
                json_object_put(row);
        return r;
}

/* Each line is a recording. The rest is read also after a failure: ktrace-fleet must not die of its
 * pipe. */
static int fleet_read_list(FILE *from, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *list = json_object_new_array();
        char line[LINE_MAX_BYTES]; /* more than a row has; the rest of a longer line is no row */
        int r = list ? 0 : -ENOMEM;

        while (fgets(line, sizeof(line), from))
                r = r ?: fleet_add_row(list, line, strlen(line), reason);
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

/* Returns an exit status; with KT_EXIT_OK and KT_EXIT_LOST there is a list. The caller has set the
 * words. */
static int fleet_get_list(FleetOptions *o, json_object **ret) {
        Reason reason = {}, unread = {};
        int fds[2];
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return message_fail(-errno, NULL);
        _cleanup_fclose_ FILE *from = fdopen(fds[0], "r");
        if (!from)
                close(fds[0]);
        int r = from ? fleet_spawn(o, fds[1], &pid, &reason) : -ENOMEM;
        close(fds[1]);
        if (r != 0)
                return message_fail(r, &reason);
        r = fleet_read_list(from, ret, &unread);
        int status = fleet_wait(pid);
        if (!fleet_has_result(status))
                return status;
        return r == 0 ? status : message_fail(r, &unread);
}

static int fleet_list(Context *context, FleetOptions *o) {
        _cleanup_json_ json_object *list = NULL;

        int status = fleet_get_list(o, &list);
        if (!fleet_has_result(status))
                return status;
        int r = fleet_print_list(context, o, list);
        return r == 0 ? status : message_fail(r, NULL);
}

/* Recordings */

static int fleet_finish(Context *context, Output *output, const char *session) {
        bool is_converted = false;
        ExportSummary summary = {};
        Reason reason = {};

        int r = output_finish(output, &summary, &is_converted, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        return is_converted ? input_report_summary(context, session, &summary) : KT_EXIT_OK;
}

/* What the broker has was not checked by this machine's consumer. */
static int fleet_fetch_into(Context *context,
                FleetOptions *o,
                const char *session,
                const char *path) {
        _cleanup_(output_free_cleanup) Output *output = NULL;
        Reason reason = {};
        pid_t pid;

        int r = output_open(path, o->format, &output, &reason);
        if (r == 0)
                output_set_foreign(output);
        r = r ?: output_begin(output, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        int sink = output_get_sink_fd(output);
        if (sink < 0 && output_get_format(output) != EXPORT_KTS)
                return message_show_usage(context,
                                "fleet fetch: with -o -, only --to kts: pipe it into 'ktracectl "
                                "report -'");
        r = fleet_spawn(o, sink >= 0 ? sink : output_get_fd(output), &pid, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        int status = fleet_wait(pid);
        if (!fleet_has_result(status))
                return status; /* the new file has no name, and an older one stays */
        r = fleet_finish(context, output, session);
        return r == KT_EXIT_OK ? status : r;
}

static int fleet_fetch(Context *context, FleetOptions *o, const char *session) {
        _cleanup_free_ char *preset = NULL;

        if (!o->output && asprintf(&preset, "%s.kts", session) < 0)
                return message_fail(-ENOMEM, NULL);
        return fleet_fetch_into(context, o, session, o->output ?: preset);
}

/* A failure is worse than a gap. */
static int fleet_choose_status(int a, int b) {
        if (a == KT_EXIT_OK || b == KT_EXIT_OK)
                return a == KT_EXIT_OK ? b : a;
        return a == KT_EXIT_LOST ? b : a;
}

static bool fleet_is_id(const char *session) {
        return session && ascii_is_hex(session, KT_ID_DIGITS);
}

/* One recording of a window. A failure does not end the others. */
static int fleet_fetch_row(Context *context, FleetOptions *o, const char *host, json_object *row) {
        const char *session = json_object_get_string(json_object_object_get(row, "session"));
        _cleanup_free_ char *path = NULL;
        size_t n_words = o->n_words;

        if (!fleet_is_id(session))
                return KT_EXIT_FAILED;
        if (asprintf(&path, "%s/%s.kts", o->output, session) < 0)
                return message_fail(-ENOMEM, NULL);
        fleet_add_words(o, "fetch", host, session);
        int status = fleet_fetch_into(context, o, session, path);
        o->n_words = n_words;
        if (fleet_has_result(status))
                printf("%s%s\n", path, status == KT_EXIT_LOST ? ": incomplete" : "");
        return status;
}

static int fleet_make_directory(const char *path) {
        Reason reason = {};

        if (mkdir(path, 0777) == 0 || errno == EEXIST)
                return KT_EXIT_OK;
        return message_fail(reason_set(&reason,
                                            KT_E_FAILED,
                                            "%s: cannot make the directory: %s",
                                            path,
                                            strerror(errno)),
                        &reason);
}

/* All recordings of a machine in a window of time, each into a file of its own. */
static int fleet_fetch_window(Context *context, FleetOptions *o, const char *host) {
        _cleanup_json_ json_object *list = NULL;
        size_t n_words = o->n_words, n_selected = 0;
        Reason reason = {};

        fleet_add_words(o, "list", host, NULL);
        int status = fleet_get_list(o, &list);
        o->n_words = n_words;
        if (!fleet_has_result(status))
                return status;
        int made = fleet_make_directory(o->output);
        if (made != KT_EXIT_OK)
                return made;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *row = json_object_array_get_idx(list, i);

                if (!fleet_is_selected(o, row))
                        continue;
                n_selected++;
                status = fleet_choose_status(status, fleet_fetch_row(context, o, host, row));
        }
        if (n_selected > 0)
                return status;
        return message_fail(reason_set(&reason,
                                            KT_E_FAILED,
                                            "%s: no recording of this time: 'ktracectl fleet list "
                                            "%s' shows all",
                                            host,
                                            host),
                        &reason);
}

static int fleet_pass(FleetOptions *o) {
        Reason reason = {};
        pid_t pid;

        int r = fleet_spawn(o, STDOUT_FILENO, &pid, &reason);
        return r == 0 ? fleet_wait(pid) : message_fail(r, &reason);
}

static const struct {
        const char *what;
        int min, max;
        const char *missing;
} words[] = {
        { "list", 0, 1, "" },
        { "fetch", 1, 2, "expected HOST and SESSION: 'ktracectl fleet list' shows them" },
        { "follow", 2, 2, "expected HOST and SESSION: 'ktracectl fleet list' shows them" },
        { "add", 1, 2, "expected the machine id: /etc/machine-id of the machine has it" },
};

/* `fetch` names one recording, or a window of time and a directory. */
static int fleet_check_window(Context *context, const FleetOptions *o, int n) {
        bool has_window =
                        o->from.kind != SELECTION_TIME_NONE || o->until.kind != SELECTION_TIME_NONE;

        if (n == 2 && has_window)
                return message_show_usage(context,
                                "fleet fetch: SESSION names one recording: leave out --from and --until");
        if (n == 1 && !has_window)
                return message_show_usage(context,
                                "fleet fetch: expected SESSION, or --from or --until with -o DIR: 'ktracectl fleet list' shows the sessions");
        if (n == 1 && (!o->output || strcmp(o->output, "-") == 0 || o->format))
                return message_show_usage(context,
                                "fleet fetch: --from and --until require -o DIR, without --to: each recording becomes a .kts file in it");
        return KT_EXIT_OK;
}

static int fleet_execute(Context *context, FleetOptions *o, int n, char **arguments) {
        size_t i = 0;

        while (i < ELEMENTSOF(words) && strcmp(arguments[0], words[i].what) != 0)
                i++;
        if (i == ELEMENTSOF(words))
                return message_show_usage(context,
                                "fleet: expected list, fetch, follow or add, got \"%s\"",
                                arguments[0]);
        if (n - 1 < words[i].min)
                return message_show_usage(context, "fleet %s: %s", arguments[0], words[i].missing);
        if (n - 1 > words[i].max)
                return message_show_usage(context,
                                "fleet %s: %s: one argument too many",
                                arguments[0],
                                arguments[1 + words[i].max]);
        if (strcmp(arguments[0], "fetch") == 0) {
                int status = fleet_check_window(context, o, n - 1);

                if (status != KT_EXIT_OK || n == 2)
                        return status == KT_EXIT_OK ? fleet_fetch_window(context, o, arguments[1])
                                                    : status;
        }
        if (strcmp(arguments[0], "follow") == 0) {
                if (o->output || o->format)
                        return message_show_usage(context,
                                        "fleet follow: it writes to standard output: leave out -o and --to");
                fleet_add_word(o, "--follow");
        }
        fleet_add_word(o, "--");
        fleet_add_word(o, strcmp(arguments[0], "follow") == 0 ? "fetch" : arguments[0]);
        for (int k = 1; k < n; k++)
                fleet_add_word(o, arguments[k]);
        if (strcmp(arguments[0], "list") == 0)
                return fleet_list(context, o);
        return strcmp(arguments[0], "fetch") == 0 ? fleet_fetch(context, o, arguments[2])
                                                  : fleet_pass(o);
}

enum {
        OPTION_TO = OPTION_VERB,
        OPTION_CONFIG,
        OPTION_FROM,
        OPTION_UNTIL,
        OPTION_REPLICAS,
        OPTION_MAX_BYTES,
        OPTION_MAX_AGE,
};

static int fleet_read_time(Context *context,
                const char *option,
                const char *text,
                SelectionTime *ret) {
        Reason reason = {};

        int r = selection_time_parse(option, text, ret, &reason);
        if (r == 0 && ret->kind == SELECTION_TIME_DATE)
                return KT_EXIT_OK;
        return message_show_usage(context,
                        "%s: expected a date such as 2026-11-26T07:30:00, got \"%s\"",
                        option,
                        text);
}

/* ktrace-fleet reads the values of the options that it gets. */
static int fleet_take_option(Context *context, FleetOptions *o, int option, const char *text) {
        static const struct {
                int option;
                const char *name;
        } passed[] = {
                { OPTION_CONFIG, "--config" },
                { OPTION_REPLICAS, "--replicas" },
                { OPTION_MAX_BYTES, "--max-bytes" },
                { OPTION_MAX_AGE, "--max-age" },
        };

        for (size_t i = 0; i < ELEMENTSOF(passed); i++)
                if (option == passed[i].option) {
                        if (o->n_words + 2 > 1 + 2 * ELEMENTSOF(passed))
                                return message_show_usage(
                                                context, "%s is given twice", passed[i].name);
                        fleet_add_word(o, passed[i].name);
                        fleet_add_word(o, text);
                        return KT_EXIT_OK;
                }
        if (option == OPTION_FROM)
                return fleet_read_time(context, "--from", text, &o->from);
        if (option == OPTION_UNTIL)
                return fleet_read_time(context, "--until", text, &o->until);
        *(option == 'o' ? &o->output : &o->format) = text;
        return KT_EXIT_OK;
}

static int fleet_run(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "output", required_argument, NULL, 'o' },
                { "to", required_argument, NULL, OPTION_TO },
                { "config", required_argument, NULL, OPTION_CONFIG },
                { "from", required_argument, NULL, OPTION_FROM },
                { "until", required_argument, NULL, OPTION_UNTIL },
                { "replicas", required_argument, NULL, OPTION_REPLICAS },
                { "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
                { "max-age", required_argument, NULL, OPTION_MAX_AGE },
                {} };
        FleetOptions o = { .n_words = 1 };
        int option, status;

        while ((option = options_next(context, argc, argv, "hqo:", options, &status)) >= 0) {
                status = fleet_take_option(context, &o, option, optarg);
                if (status != KT_EXIT_OK)
                        return status;
        }
        if (option != OPTIONS_END ||
                        options_count(context, argc, argv, 1, 3, &status) != OPTIONS_END)
                return status;
        return fleet_execute(context, &o, argc - optind, argv + optind);
}

const Verb verb_fleet = {
        .name = "fleet",
        .arguments = "list | fetch HOST [SESSION] | follow HOST SESSION | add ID [NAME]",
        .summary = "Recordings that ktrace-ship has sent from other machines",
        .help = "list [HOST]            what the broker has, of one machine or of all\n"
                "  --from DATE, --until DATE\n"
                "                       recordings of this time: 2026-11-26T07:30:00\n"
                "fetch HOST SESSION     all that has arrived of it; gaps are reported\n"
                "  -o, --output FILE    default: SESSION.kts; - for standard output\n"
                "  --to FORMAT          " EXPORT_FORMAT_NAMES "; default: by FILE's suffix\n"
                "fetch HOST --from DATE --until DATE -o DIR\n"
                "                       all recordings of this time, each into DIR/SESSION.kts\n"
                "follow HOST SESSION    the same to standard output, until its end arrives\n"
                "add ID [NAME]          let the machine with this id send recordings\n"
                "  --replicas N         copies in a cluster, from 1 to 5; default: 1\n"
                "  --max-bytes N        of the machine; then nothing more is accepted from it\n"
                "  --max-age TIME       data older than this is removed, such as 30d\n"
                "  --config FILE        default: /etc/ktrace/fleet.json, which must be root's\n"
                "\n"
                "HOST is a machine id, or the name that add gave to it.\n",
        .at_home = "it reads from the broker: run it here",
        .run = fleet_run,
};
