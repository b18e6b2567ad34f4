/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl status: the daemon and what it allows the caller, or one session. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "administrator.h"
#include "describe.h"
#include "table.h"
#include "verb.h"

static void print_cost(json_object *limits) {
        uint64_t n = json_object_get_uint64(json_object_object_get(limits, "events"));

        if (n > 0)
                printf("Your sessions have %" PRIu64
                       " events; while they run everybody pays for each hit of one, see 'ktracectl status SESSION'.\n",
                                n);
}

static int status_print(const Context *context, json_object *limits, json_object *sessions) {
        _cleanup_json_ json_object *whole = json_object_new_object();

        if (context->json != JSON_OFF) {
                if (!whole)
                        return -ENOMEM;
                (void)json_object_object_add(whole, "limits", json_object_get(limits));
                (void)json_object_object_add(whole, "sessions", json_object_get(sessions));
                table_print_json(context, whole);
                return 0;
        }
        printf("ktraced is running; you see %zu of its sessions. Your limits and what is used:\n",
                        json_object_array_length(sessions));
        json_object_object_foreach(limits, key, value) {
                printf("  %-24s %s\n", key, json_object_get_string(value));
        }
        print_cost(limits);
        return 0;
}

static int status_run(Context *context, int argc, char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *limits = NULL, *sessions = NULL;
        Reason reason = {};
        int status, r;

        if (options_parse(context, argc, argv, 0, 1, &status) != OPTIONS_END)
                return status;
        r = proxy_open(&proxy, &reason);
        if (r == 0 && optind < argc) {
                r = describe_session(context, proxy, argv[optind], false, &reason);
                return r == 0 ? KT_EXIT_OK : tell_failure(r, &reason);
        }
        if (r == 0 && context->administrator)
                r = administrator_begin(context, proxy, &reason);
        if (r == 0)
                r = proxy_call_json(proxy,
                                KT_OBJECT,
                                KT_MANAGER_INTERFACE,
                                "GetLimits",
                                NULL,
                                &limits,
                                &reason);
        if (r == 0)
                r = proxy_list(proxy, &sessions, &reason);
        if (r == 0)
                r = status_print(context, limits, sessions);
        return r == 0 ? KT_EXIT_OK : tell_failure(r, &reason);
}

const Verb verb_status = {
        .name = "status",
        .arguments = "[SESSION]",
        .summary = "Show how ktraced does and your limits, or one session's state and counts",
        .help = HELP_ADMINISTRATOR,
        .manages = true,
        .run = status_run,
};
