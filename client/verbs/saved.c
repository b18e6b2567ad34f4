/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl saved: sessions that are stored in files and are created at boot or on request. list,
 * show and check only read files; saved-run.c contains run. Saved sessions exist only in the
 * client: the daemon reads no spec from a disk. The state of the session is the state of
 * ktrace-session@NAME.service, and the session ends when the service's process ends. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/names.h"
#include "interfaces/spec-scope.h"
#include "recording/saved-run.h"
#include "spec/saved-file.h"
#include "spec/spec-file.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/verb.h"

enum {
        OPTION_LIB_DIR = OPTION_VERB,
        OPTION_CONFIG_DIR,
};

static int saved_add_text(json_object *object, const char *key, const char *text) {
        return json_object_object_add(object, key, json_object_new_string(text)) < 0 ? -ENOMEM : 0;
}

/* Removes the path from "1:26: mode: ...": the table has a column for it. */
static const char *skip_path(const char *text, const char *path) {
        size_t size = strlen(path);

        if (strncmp(text, path, size) != 0 || text[size] != ':')
                return text;
        text += size + 1;
        return text + strspn(text, " ");
}

/* An error in the file is shown in the file's row. */
static int saved_describe(json_object *row, const SavedEntry *entry) {
        _cleanup_spec_ Spec *spec = NULL;
        _cleanup_free_ char *scope = NULL;
        Reason reason = {};
        bool has_lifetime;

        int r = saved_load(entry->path, entry->name, &spec, &has_lifetime, &reason);
        if (r < 0)
                return r;
        r = r > 0 ? 0 : spec_format_scope(spec, &scope);
        r = r ?: saved_add_text(row, "name", entry->name);
        r = r ?: saved_add_text(row, "file", entry->path);
        r = r ?: saved_add_text(row, "mode", spec ? spec_mode_to_string(spec->mode) : "");
        r = r ?: saved_add_text(row, "scope", scope ?: "");
        r = r ?: saved_add_text(row, "mistake", spec ? "" : skip_path(reason.text, entry->path));
        if (r == 0 && json_object_object_add(row, "valid", json_object_new_boolean(spec != NULL)) <
                                        0)
                r = -ENOMEM;
        return r;
}

static int add_rows(json_object *rows, const SavedEntry *entries, size_t n) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *row = json_object_new_object();

                r = row && json_object_array_add(rows, row) == 0 ? 0 : -ENOMEM;
                r = r ?: saved_describe(row, &entries[i]);
        }
        return r;
}

static int saved_list_files(Context *context, const SavedDirs *dirs, const char *name _unused_) {
        static const TableColumn columns[] = {
                { "name", "NAME", false },
                { "mode", "MODE", false },
                { "scope", "SCOPE", false },
                { "file", "FILE", false },
                { "mistake", "MISTAKE", false },
        };
        _cleanup_json_ json_object *rows = json_object_new_array();
        SavedEntry *entries = NULL;
        Reason reason = {};
        size_t n = 0;

        int r = rows ? saved_list(dirs, &entries, &n, &reason) : -ENOMEM;
        r = r ?: add_rows(rows, entries, n);
        saved_list_free(entries, n);
        if (r != 0)
                return message_fail(r, &reason);
        table_print(context, rows, columns, ELEMENTSOF(columns), "saved session");
        return KT_EXIT_OK;
}

static int saved_show(Context *context, const SavedDirs *dirs, const char *name) {
        _cleanup_(spec_file_free_cleanup) SpecFile *file = NULL;
        _cleanup_free_ char *path = NULL;
        Context as_json = *context;
        Reason reason = {};

        int r = saved_find(dirs, name, &path, &reason);
        r = r ?: spec_file_open(path, &file, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        if (as_json.json == JSON_OFF)
                as_json.json = JSON_PRETTY;
        table_print_json(&as_json, spec_file_get(file));
        return KT_EXIT_OK;
}

static int saved_check_file(const Context *context, const char *path, const char *name) {
        _cleanup_spec_ Spec *spec = NULL;
        Reason reason = {};
        bool has_lifetime;

        int r = saved_load(path, name, &spec, &has_lifetime, &reason);
        if (r != 0) {
                (void)message_fail(r, &reason);
                return KT_EXIT_FAILED;
        }
        if (!context->quiet)
                printf("%s: good\n", strcmp(path, "-") == 0 ? "standard input" : path);
        return KT_EXIT_OK;
}

static int check_all(const Context *context, const SavedDirs *dirs) {
        SavedEntry *entries = NULL;
        int status = KT_EXIT_OK;
        Reason reason = {};
        size_t n = 0;

        int r = saved_list(dirs, &entries, &n, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        for (size_t i = 0; i < n; i++)
                if (saved_check_file(context, entries[i].path, entries[i].name) != KT_EXIT_OK)
                        status = KT_EXIT_FAILED;
        saved_list_free(entries, n);
        return status;
}

/* True for standard input, a path, or an existing "x.json" in this directory. Else the text is the
 * name of a saved session. */
static bool saved_is_file(const char *name) {
        size_t size = strlen(name);

        return strcmp(name, "-") == 0 || strchr(name, '/') ||
               (size > 5 && strcmp(name + size - 5, ".json") == 0 && access(name, F_OK) == 0);
}

static int saved_check(Context *context, const SavedDirs *dirs, const char *name) {
        _cleanup_free_ char *path = NULL;
        Reason reason = {};

        if (!name)
                return check_all(context, dirs);
        if (saved_is_file(name)) /* the session needs no particular name */
                return saved_check_file(context, name, "checked");
        int r = saved_find(dirs, name, &path, &reason);
        return r == 0 ? saved_check_file(context, path, name) : message_fail(r, &reason);
}

static const struct {
        const char *name;
        int min, max;
        int (*run)(Context *context, const SavedDirs *dirs, const char *name);
} words[] = {
        { "list", 0, 0, saved_list_files },
        { "show", 1, 1, saved_show },
        { "check", 0, 1, saved_check },
        { "run", 1, 1, saved_run },
};

static int saved_go(Context *context, const SavedDirs *dirs, int argc, char **argv) {
        int status;

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strcmp(argv[optind], words[i].name) == 0) {
                        if (++optind == argc && words[i].min > 0)
                                return message_show_usage(context,
                                                "saved %s: NAME is missing, 'ktracectl saved list' shows them",
                                                words[i].name);
                        if (options_count(context,
                                            argc,
                                            argv,
                                            words[i].min,
                                            words[i].max,
                                            &status) != OPTIONS_END)
                                return status;
                        return words[i].run(context, dirs, argv[optind]);
                }
        return message_show_usage(context,
                        "saved: expected list, show, check or run, got \"%s\"",
                        argv[optind]);
}

static int saved_run_verb(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "lib-dir", required_argument, NULL, OPTION_LIB_DIR },
                { "config-dir", required_argument, NULL, OPTION_CONFIG_DIR },
                {} };
        SavedDirs dirs = { KT_LIB_DIR, KT_CONFIG_DIR };
        int option, status;

        while ((option = options_next(context, argc, argv, "hq", options, &status)) >= 0)
                *(option == OPTION_LIB_DIR ? &dirs.lib_dir : &dirs.config_dir) = optarg;
        if (option == OPTIONS_EXIT ||
                        options_count(context, argc, argv, 1, 2, &status) != OPTIONS_END)
                return status;
        return saved_go(context, &dirs, argc, argv);
}

const Verb verb_saved = {
        .name = "saved",
        .arguments = "list|show|check|run [NAME]",
        .summary = "Sessions that are kept in files, to be run at boot",
        .help = "  list                       list the files in /etc/ktrace/sessions.d "
                "and\n"
                "                             /usr/lib/ktrace/sessions.d\n"
                "  show NAME                  print its session spec, as JSON\n"
                "  check [NAME|FILE|-]        check whether it is well-formed; exit "
                "status 1 if\n"
                "                             not; - is standard input; without a name "
                "all of\n"
                "                             them. Checks only the file, which may be "
                "for\n"
                "                             another kernel. 'ktracectl policy explain "
                "FILE'\n"
                "                             also checks its events and the rules\n"
                "  run NAME                   make and start it, and stay until "
                "SIGTERM, which\n"
                "                             ends it, or until its end (exit status "
                "1)\n"
                "\n"
                "  --config-dir=DIR, --lib-dir=DIR\n"
                "                             the parents of sessions.d, instead of "
                "/etc/ktrace\n"
                "                             and /usr/lib/ktrace\n"
                "\n"
                "'systemctl enable ktrace-session@NAME.service' runs it from early in "
                "the boot.\n",
        .run = saved_run_verb,
};
