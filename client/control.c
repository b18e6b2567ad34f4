/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl start, stop, destroy: one method of a session each. */

#include "administrator.h"
#include "verb.h"

static int control_call(Context *context, int argc, char **argv, const char *member) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_free_ char *path = NULL;
        Reason reason = {};
        int status, r;

        if (options_parse(context, argc, argv, 1, 1, &status) != OPTIONS_END)
                return status;
        r = proxy_open(&proxy, &reason);
        if (r == 0)
                r = administrator_resolve(context, proxy, argv[optind], &path, &reason);
        if (r == 0)
                r = proxy_call(proxy, path, KT_SESSION_INTERFACE, member, NULL, NULL, &reason);
        return r == 0 ? KT_EXIT_OK : tell_failure(r, &reason);
}

static int start_run(Context *context, int argc, char **argv) {
        return control_call(context, argc, argv, "Start");
}

static int stop_run(Context *context, int argc, char **argv) {
        return control_call(context, argc, argv, "Stop");
}

static int destroy_run(Context *context, int argc, char **argv) {
        return control_call(context, argc, argv, "Destroy");
}

const Verb verb_start = {
        .name = "start",
        .arguments = "SESSION",
        .summary = "Start recording; returns once every event is live on every CPU",
        .run = start_run,
};

const Verb verb_stop = {
        .name = "stop",
        .arguments = "SESSION",
        .summary = "Stop recording; returns once no further event can arrive",
        .help = "What was recorded stays and can be read; 'start' goes on.\n\n" HELP_ADMINISTRATOR,
        .manages = true,
        .run = stop_run,
};

const Verb verb_destroy = {
        .name = "destroy",
        .arguments = "SESSION",
        .summary = "End a session and take everything of it out of the kernel",
        .help = HELP_ADMINISTRATOR,
        .manages = true,
        .run = destroy_run,
};
