/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl probes: what can be probed. Everything is asked of the daemon: it alone reads what the
 * kernel tells of its functions. */

#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "table.h"
#include "verb.h"

/* resolve */

static const char *get_text(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

/* What the kernel is said to call things, in two columns. */
static void print_pair(const char *indent, const char *left, int width, const char *right) {
        char text[512];

        (void)snprintf(text, sizeof(text), "%s%-*s %s", indent, width, left, right);
        tell_clean(text);
        printf("%s\n", text);
}

static void print_function(json_object *function) {
        json_object *takes = json_object_object_get(function, "takes");
        size_t n = takes ? json_object_array_length(takes) : 0;

        print_pair("", get_text(function, "signature"), 0, get_text(function, "note"));
        if (*get_text(function, "module"))
                print_pair("", "in module", 0, get_text(function, "module"));
        for (size_t i = 0; i < n; i++) {
                json_object *entry = json_object_array_get_idx(takes, i);

                print_pair("  ", get_text(entry, "expression"), 44, get_text(entry, "type"));
        }
}

static int probes_resolve(Context *context, const char *function) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *answer = NULL;
        Reason reason = {};

        int r = proxy_open(&proxy, &reason);
        r = r
                            ?: proxy_call_json(proxy,
                                               KT_OBJECT,
                                               KT_MANAGER_INTERFACE,
                                               "ResolveFunction",
                                               function,
                                               &answer,
                                               &reason);
        if (r != 0)
                return tell_failure(r, &reason);
        if (context->json != JSON_OFF)
                table_print_json(context, answer);
        else
                print_function(answer);
        return KT_EXIT_OK;
}

static int probes_run(Context *context, int argc, char **argv) {
        int status;

        if (options_parse(context, argc, argv, 2, 2, &status) != OPTIONS_END)
                return status;
        argv += optind;
        if (strcmp(argv[0], "resolve") != 0)
                return tell_usage(context, "probes %s: resolve is wanted", argv[0]);
        return probes_resolve(context, argv[1]);
}

const Verb verb_probes = {
        .name = "probes",
        .arguments = "resolve FUNCTION",
        .summary = "See what a probe can take of a function of the kernel",
        .help = "resolve FUNCTION     its signature, and what can be taken at it; MODULE:FUNCTION\n",
        .paged = true,
        .run = probes_run,
};
