/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl list: lists the caller's sessions. Root and, with --all-users, administrators see the
 * sessions of all users. */

#include "call/proxy-session.h"
#include "terminal/table.h"
#include "verbs/administrator.h"
#include "verbs/verb.h"

static const struct option list_options[] = { OPTIONS_GLOBAL,
        { "all-users", no_argument, NULL, OPTION_ADMINISTRATOR },
        {} };

static int list_run(Context *context, int argc, char **argv) {
        static const TableColumn columns[] = {
                { "id", "ID", false },
                { "name", "NAME", false },
                { "state", "STATE", false },
                { "uid", "UID", true },
        };
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *rows = NULL;
        Reason reason = {};
        int status, r;

        if (options_next(context, argc, argv, "hq", list_options, &status) != OPTIONS_END ||
                        options_count(context, argc, argv, 0, 0, &status) != OPTIONS_END)
                return status;
        r = proxy_open(context->door, &proxy, &reason);
        if (r == 0 && context->administrator)
                r = administrator_begin(context, proxy, &reason);
        if (r == 0)
                r = proxy_list(proxy, &rows, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        table_print(context, rows, columns, ELEMENTSOF(columns), "session");
        return KT_EXIT_OK;
}

const Verb verb_list = {
        .name = "list",
        .arguments = "",
        .summary = "List your sessions (root: all sessions)",
        .help = "  --all-users                sessions of all users, if polkit allows "
                "it; else\n"
                "                             exit status 3\n",
        .paged = true,
        .run = list_run,
};
