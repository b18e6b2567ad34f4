/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl events: what the caller may use, with -v each event's fields. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "table.h"
#include "verb.h"

static const char *get_text(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

/* "  pid_t pid;  offset 24, 4 bytes, signed", as the kernel's format files have it. */
static void events_print_field(json_object *field) {
        char text[512];

        if (json_object_get_boolean(json_object_object_get(field, "common")))
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "%-28s %-24s offset %s, %s bytes%s",
                        get_text(field, "type"),
                        get_text(field, "name"),
                        get_text(field, "offset"),
                        get_text(field, "size"),
                        json_object_get_boolean(json_object_object_get(field, "signed"))
                                        ? ", signed"
                                        : "");
        tell_clean(text);
        printf("    %s\n", text);
}

static void events_print_description(json_object *event) {
        json_object *fields = json_object_object_get(event, "fields");
        size_t n = json_object_is_type(fields, json_type_array) ? json_object_array_length(fields)
                                                                : 0;

        printf("%s\n", get_text(event, "name"));
        for (size_t i = 0; i < n; i++)
                events_print_field(json_object_array_get_idx(fields, i));
}

static int events_describe(Proxy *proxy, json_object *names, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *events = json_object_new_array();

        if (!events)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(names); i++) {
                const char *name = json_object_get_string(json_object_array_get_idx(names, i));
                json_object *event;
                int r = proxy_get(proxy, NULL, "DescribeEvent", name, &event, reason);

                if (r != 0)
                        return r;
                if (json_object_array_add(events, event) < 0) {
                        json_object_put(event);
                        return -ENOMEM;
                }
        }
        *ret = TAKE_PTR(events);
        return 0;
}

static void events_print(const Context *context, json_object *names, json_object *descriptions) {
        size_t n = json_object_array_length(names);

        if (context->json != JSON_OFF) {
                table_print_json(context, descriptions ?: names);
                return;
        }
        for (size_t i = 0; i < n; i++)
                if (descriptions)
                        events_print_description(json_object_array_get_idx(descriptions, i));
                else
                        printf("%s\n", json_object_get_string(json_object_array_get_idx(names, i)));
        if (context->legend && isatty(STDOUT_FILENO))
                printf("\n%zu event%s\n", n, n == 1 ? "" : "s");
}

static int events_go(const Context *context, const char *glob, bool verbose) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *names = NULL, *descriptions = NULL;
        Reason reason = {};
        int r = proxy_open(&proxy, &reason);

        if (r == 0)
                r = proxy_get(proxy, NULL, "ListEvents", glob, &names, &reason);
        if (r == 0 && json_object_array_length(names) == 0)
                r = *glob ? reason_set(&reason,
                                            KT_E_NO_SUCH_EVENT,
                                            "%s: no event that you may use matches; "
                                            "'ktracectl events' "
                                            "lists them",
                                            glob)
                          : reason_set(&reason,
                                            KT_E_ACCESS_DENIED,
                                            "policy grants you no event; an administrator can in "
                                            "%s/%s",
                                            KT_CONFIG_DIR,
                                            KT_POLICY_SUBDIR);
        if (r == 0 && verbose)
                r = events_describe(proxy, names, &descriptions, &reason);
        if (r != 0)
                return tell_failure(r, &reason);
        events_print(context, names, descriptions);
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
        return events_go(context, optind < argc ? argv[optind] : "", verbose);
}

const Verb verb_events = {
        .name = "events",
        .arguments = "[GLOB]",
        .summary = "List the events that you may use",
        .help = "  -v, --verbose          with their fields, as a filter names them\n",
        .paged = true,
        .run = events_run,
};
