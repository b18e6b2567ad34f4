/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl spool: lists and removes what sessions have recorded to the machine's disk, and what
 * boots and crashes have left there. spool-fetch.c contains fetch. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "export/export.h"
#include "recording/spool-fetch.h"
#include "recording/spool-list.h"
#include "remote/near.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/administrator.h"
#include "verbs/verb.h"

typedef struct SpoolOptions {
        const char *path, *format, *file;
} SpoolOptions;

static void spool_put(json_object *row, const char *key, const char *text) {
        (void)json_object_object_add(row, key, json_object_new_string(text));
}

static uint64_t number_of(json_object *object, const char *key) {
        return json_object_get_uint64(json_object_object_get(object, key));
}

/* Makes a row with the members of an entry that users need. */
static json_object *spool_make_row(json_object *entry) {
        static const char *const same[] = { "id", "name", "kind", "uid", "state" };
        json_object *row = json_object_new_object();
        time_t created = (time_t)(number_of(entry, "created-usec") / 1000000);
        char text[TABLE_NUMBER_MAX], when[32] = "-";
        struct tm tm;

        for (size_t i = 0; row && i < ELEMENTSOF(same); i++)
                (void)json_object_object_add(row,
                                same[i],
                                json_object_get(json_object_object_get(entry, same[i])));
        if (!row)
                return NULL;
        if (created > 0 && localtime_r(&created, &tm))
                (void)strftime(when, sizeof(when), "%F %T", &tm);
        spool_put(row, "created", when);
        spool_put(row, "size", table_format_bytes(text, number_of(entry, "bytes")));
        (void)snprintf(text,
                        sizeof(text),
                        "%zu",
                        json_object_array_length(json_object_object_get(entry, "files")));
        spool_put(row, "files", text);
        spool_put(row, "lost", table_format_number(text, number_of(entry, "lost")));
        return row;
}

static int print_list(const Context *context, json_object *list) {
        static const TableColumn columns[] = {
                { "id", "ID", false },
                { "name", "NAME", false },
                { "kind", "KIND", false },
                { "state", "STATE", false },
                { "uid", "UID", true },
                { "created", "BEGUN", false },
                { "files", "FILES", true },
                { "size", "SIZE", true },
                { "lost", "LOST", true },
        };
        _cleanup_json_ json_object *rows = json_object_new_array();

        if (context->json != JSON_OFF) {
                table_print_json(context, list);
                return 0;
        }
        for (size_t i = 0; rows && i < json_object_array_length(list); i++)
                (void)json_object_array_add(
                                rows, spool_make_row(json_object_array_get_idx(list, i)));
        if (!rows)
                return -ENOMEM;
        table_print(context, rows, columns, ELEMENTSOF(columns), "recording");
        return 0;
}

static int list_entries(Context *context,
                Proxy *proxy,
                const SpoolOptions *o _unused_,
                char **arguments _unused_,
                Reason *reason) {
        _cleanup_json_ json_object *list = NULL;

        int r = spool_list_read(proxy, &list, reason);
        return r ?: print_list(context, list);
}

static int remove_entries(Context *context _unused_,
                Proxy *proxy,
                const SpoolOptions *o _unused_,
                char **arguments,
                Reason *reason) {
        int r = 0;

        for (; r == 0 && *arguments; arguments++) {
                _cleanup_free_ char *id = NULL;

                r = spool_resolve(proxy, *arguments, &id, NULL, reason);
                r = r ?: proxy_order(proxy, NULL, "RemoveSpool", id, reason);
        }
        return r;
}

static int fetch_entry(Context *context,
                Proxy *proxy,
                const SpoolOptions *o,
                char **arguments,
                Reason *reason) {
        const SpoolFetch fetch = {
                .name = arguments[0], .path = o->path, .format = o->format, .file = o->file
        };

        return spool_fetch(context, proxy, &fetch, reason);
}

static const struct {
        const char *what;
        int min, max;
        bool takes_options, manages;
        int (*run)(Context *context,
                        Proxy *proxy,
                        const SpoolOptions *o,
                        char **arguments,
                        Reason *reason);
} words[] = {
        { "list", 0, 0, false, true, list_entries },
        { "fetch", 1, 1, true, false, fetch_entry },
        { "remove", 1, 1024, false, true, remove_entries },
};

static int spool_execute(Context *context, const SpoolOptions *o, int n, char **arguments) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        Reason reason = {};
        ExportFormat format;
        size_t i = 0;

        while (i < ELEMENTSOF(words) && strcmp(arguments[0], words[i].what) != 0)
                i++;
        if (i == ELEMENTSOF(words))
                return message_show_usage(context,
                                "spool: expected list, fetch or remove, got \"%s\"",
                                arguments[0]);
        if (n - 1 < words[i].min)
                return message_show_usage(context,
                                "spool %s: ID is missing, 'ktracectl spool list' shows them",
                                arguments[0]);
        if (n - 1 > words[i].max)
                return message_show_usage(context,
                                "spool %s: %s: one argument too many",
                                arguments[0],
                                arguments[1 + words[i].max]);
        if (!words[i].takes_options && (o->path || o->format || o->file))
                return message_show_usage(
                                context, "spool %s: -o, --to and --file are fetch's", arguments[0]);
        if (o->format && export_format_from_string(o->format, &format) < 0)
                return message_show_usage(context,
                                "--to %s: no such format; there are " EXPORT_FORMAT_NAMES,
                                o->format);
        int r = proxy_open(context->door, &proxy, &reason);
        if (r == 0 && context->administrator && words[i].manages)
                r = administrator_begin(context, proxy, &reason);
        r = r ?: words[i].run(context, proxy, o, arguments + 1, &reason);
        return r == 0 ? KT_EXIT_OK : r < 0 || reason.text[0] ? message_fail(r, &reason) : r;
}

/* With -H. The name of a preset file is what the user typed, and not an id that the host sends. */
static int spool_fetch_near(const Context *context, const SpoolOptions *o, const char *name) {
        NearOptions near = { .context = context, .may_lack_end = true };
        _cleanup_(output_free_cleanup) Output *output = NULL;
        _cleanup_free_ char *preset = NULL;
        Reason reason = {};
        struct stat status;

        if (!o->path && (strchr(name, '/') || *name == '.'))
                return message_show_usage(
                                context, "spool fetch %s: no file can have this name", name);
        if (o->path && stat(o->path, &status) == 0 && S_ISDIR(status.st_mode))
                return message_show_usage(context, "-o %s: with -H, expected a file", o->path);
        if (!o->path && asprintf(&preset, "%s.kts", name) < 0)
                return message_fail(-ENOMEM, NULL);
        int r = output_open(o->path ?: preset, o->format, &output, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        output_set_foreign(output);
        near.output = output;
        return near_run(&near);
}

enum {
        OPTION_TO = OPTION_VERB,
        OPTION_FILE,
};

static int spool_run(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "output", required_argument, NULL, 'o' },
                { "to", required_argument, NULL, OPTION_TO },
                { "file", required_argument, NULL, OPTION_FILE },
                { "all-users", no_argument, NULL, OPTION_ADMINISTRATOR },
                {} };
        SpoolOptions o = {};
        int option, status;

        while ((option = options_next(context, argc, argv, "hqo:", options, &status)) >= 0)
                *(option == 'o' ? &o.path : option == OPTION_TO ? &o.format : &o.file) = optarg;
        if (option != OPTIONS_END ||
                        options_count(context, argc, argv, 1, 1024, &status) != OPTIONS_END)
                return status;
        if (context_has_many_hosts(context) && strcmp(argv[optind], "fetch") == 0)
                return message_show_usage(context,
                                "-H %s: spool fetch writes one output: expected one machine",
                                context->host);
        if (context->host && strcmp(argv[optind], "fetch") == 0 && argc - optind == 2)
                return spool_fetch_near(context, &o, argv[optind + 1]);
        if (context->host)
                return context->run_there(context);
        return spool_execute(context, &o, argc - optind, argv + optind);
}

const Verb verb_spool = {
        .name = "spool",
        .arguments = "list | fetch ID | remove ID…",
        .summary = "List, fetch and remove recordings on the machine's disk",
        .help = "list                 your recordings (root: all): of sessions with "
                "--spool, of\n"
                "                     boots and of crashes\n"
                "  --all-users        recordings of all users, if polkit allows it; "
                "also for\n"
                "                     remove\n"
                "fetch ID|NAME        the whole recording, even if it is not finished\n"
                "  -o, --output FILE|DIR\n"
                "                     default: ID.kts, or ID.txt for the text of a "
                "crash; in a\n"
                "                     DIR each file separately; - for standard output\n"
                "  --to FORMAT        " EXPORT_FORMAT_NAMES "; default: by FILE's suffix\n"
                "  --file N|NAME      only this file of the recording; --json "
                "list shows them\n"
                "remove ID|NAME…      remove it for ever\n"
                "\n"
                "A NAME is one of your own recordings; use ids for others.\n",
        .carries = true,
        .carries_many = true,
        .run = spool_run,
};
