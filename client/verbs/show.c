/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl show, and status of one session: prints the daemon's description of a session and its
 * counts. */

#include <errno.h>
#include <stdio.h>

#include "verbs/describe.h"
#include "verbs/verb.h"

static int show_run(Context *context, int argc, char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        Reason reason = {};
        int status, r;

        if (options_parse(context, argc, argv, 1, 1, &status) != OPTIONS_END)
                return status;
        r = proxy_open(context->door, &proxy, &reason);
        if (r == 0)
                r = describe_session(context, proxy, argv[optind], true, &reason);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

const Verb verb_show = {
        .name = "show",
        .arguments = "SESSION",
        .summary = "Show a session with its events, counts and what policy granted",
        .help = HELP_ADMINISTRATOR,
        .paged = true,
        .manages = true,
        .run = show_run,
};
