/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl events: lists the events that the caller may use, with -v also their fields. The
 * daemon matches globs. The client searches a word in names and fields. For the fields it
 * describes each event with a separate call, which lets the daemon serve other callers in
 * between. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/proxy.h"
#include "interfaces/glob.h"
#include "terminal/table.h"
#include "verbs/verb.h"

static const char *events_get_text(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

/* Prints "pid_t pid; offset 24, 4 bytes, signed", similar to the kernel's format files. */
static void events_print_field(json_object *field) {
        char text[512];

        if (json_object_get_boolean(json_object_object_get(field, "common")))
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "%-28s %-24s offset %s, %s bytes%s",
                        events_get_text(field, "type"),
                        events_get_text(field, "name"),
                        events_get_text(field, "offset"),
                        events_get_text(field, "size"),
                        json_object_get_boolean(json_object_object_get(field, "signed"))
                                        ? ", signed"
                                        : "");
        message_clean(text);
        printf("    %s\n", text);
}

static void events_print_description(json_object *event) {
        json_object *fields = json_object_object_get(event, "fields");
        size_t n = json_object_is_type(fields, json_type_array) ? json_object_array_length(fields)
                                                                : 0;

        printf("%s\n", events_get_text(event, "name"));
        for (size_t i = 0; i < n; i++)
                events_print_field(json_object_array_get_idx(fields, i));
}

static bool events_has_field(json_object *event, const char *word) {
        json_object *fields = json_object_object_get(event, "fields");
        size_t n = json_object_is_type(fields, json_type_array) ? json_object_array_length(fields)
                                                                : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *field = json_object_array_get_idx(fields, i);

                if (!json_object_get_boolean(json_object_object_get(field, "common")) &&
                                strstr(events_get_text(field, "name"), word))
                        return true;
        }
        return false;
}

/* The events to show. */
typedef struct Found {
        json_object *names;
        json_object *descriptions; /* one per name; NULL: not requested */
} Found;

static void found_clear(Found *found) {
        json_object_put(found->names);
        json_object_put(found->descriptions);
}

static int events_append(json_object *list, json_object *item) {
        if (item && json_object_array_add(list, item) == 0)
                return 0;
        json_object_put(item);
        return -ENOMEM;
}

/* word: the event is shown if it contains the word; NULL: always. */
static int found_consider(Found *found,
                Proxy *proxy,
                const char *name,
                const char *word,
                Reason *reason) {
        _cleanup_json_ json_object *event = NULL;
        bool is_found = !word || strstr(name, word);
        bool may_be_field = word && !strchr(word, ':');
        int r = 0;

        if (found->descriptions || (!is_found && may_be_field))
                r = proxy_get(proxy, NULL, "DescribeEvent", name, &event, reason);
        if (r == KT_E_NO_SUCH_EVENT) /* its module was unloaded in the meantime */
                return 0;
        if (r != 0 || !(is_found || (may_be_field && events_has_field(event, word))))
                return r;
        r = events_append(found->names, json_object_new_string(name));
        if (r == 0 && found->descriptions)
                r = events_append(found->descriptions, TAKE_PTR(event));
        return r;
}

static int found_fill(Found *found, Proxy *proxy, const char *text, Reason *reason) {
        const char *word = *text && !glob_is_pattern(text) ? text : NULL;
        _cleanup_json_ json_object *names = NULL;

        int r = proxy_get(proxy, NULL, "ListEvents", word ? "" : text, &names, reason);
        size_t n = r == 0 ? json_object_array_length(names) : 0;
        if (r == 0 && n == 0 && (word || !*text))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "policy grants you no event; an administrator can grant events in %s/%s",
                                KT_CONFIG_DIR,
                                KT_POLICY_SUBDIR);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = found_consider(found,
                                proxy,
                                json_object_get_string(json_object_array_get_idx(names, i)),
                                word,
                                reason);
        return r;
}

/* The daemon's error suggests similar names. */
static int events_refuse_empty(Proxy *proxy, const char *text, Reason *reason) {
        _cleanup_json_ json_object *event = NULL;

        if (!glob_is_pattern(text)) {
                int r = proxy_get(proxy, NULL, "DescribeEvent", text, &event, reason);

                if (r != 0)
                        return r;
        }
        return reason_set(reason,
                        KT_E_NO_SUCH_EVENT,
                        "%s: no event that you may use matches; 'ktracectl events' lists them",
                        text);
}

static void events_print(const Context *context, const Found *found) {
        size_t n = json_object_array_length(found->names);

        if (context->json != JSON_OFF) {
                table_print_json(context, found->descriptions ?: found->names);
                return;
        }
        for (size_t i = 0; i < n; i++)
                if (found->descriptions)
                        events_print_description(json_object_array_get_idx(found->descriptions, i));
                else
                        printf("%s\n",
                                        json_object_get_string(json_object_array_get_idx(
                                                        found->names, i)));
        if (context->legend && context_is_terminal(context))
                printf("\n%zu event%s\n", n, n == 1 ? "" : "s");
}

static int events_execute(const Context *context, const char *text, bool verbose) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_(found_clear) Found found = {
                .names = json_object_new_array(),
                .descriptions = verbose ? json_object_new_array() : NULL,
        };
        Reason reason = {};

        if (!found.names || (verbose && !found.descriptions))
                return message_fail(-ENOMEM, &reason);
        int r = proxy_open(context->door, &proxy, &reason);
        r = r ?: found_fill(&found, proxy, text, &reason);
        if (r == 0 && json_object_array_length(found.names) == 0)
                r = events_refuse_empty(proxy, text, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        events_print(context, &found);
        return KT_EXIT_OK;
}

static int events_run(Context *context, int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_GLOBAL, { "verbose", no_argument, NULL, 'v' }, {}
        };
        bool verbose = false;
        int option, status;

        while ((option = options_next(context, argc, argv, "hqv", options, &status)) >= 0)
                verbose = true;
        if (option == OPTIONS_END)
                option = options_count(context, argc, argv, 0, 1, &status);
        if (option == OPTIONS_EXIT)
                return status;
        return events_execute(context, optind < argc ? argv[optind] : "", verbose);
}

const Verb verb_events = {
        .name = "events",
        .arguments = "[WORD|GLOB]",
        .summary = "List the events that you may use",
        .help = "WORD                 events with WORD in SYSTEM:EVENT or in the name "
                "of a field\n"
                "GLOB                 events whose SYSTEM:EVENT or EVENT matches, such "
                "as\n"
                "                     'sched:*'\n"
                "  -v, --verbose      with their fields and types\n",
        .paged = true,
        .run = events_run,
};
