/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl start, stop, destroy, clear: one method of a session each; set: another one. */

#include <stdlib.h>
#include <string.h>

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

static int clear_run(Context *context, int argc, char **argv) {
        return control_call(context, argc, argv, "Clear");
}

/* strtoull takes signs and spaces. A number too long is over any limit. */
static bool parse_kb(const char *text, uint64_t *ret) {
        char *end;

        *ret = strtoull(text, &end, 10);
        return *text >= '0' && *text <= '9' && !*end;
}

static int set_run(Context *context, int argc, char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_free_ char *path = NULL;
        Reason reason = {};
        int status, r;

        if (options_parse(context, argc, argv, 3, 3, &status) != OPTIONS_END)
                return status;
        const char *what = argv[optind + 1], *how = argv[optind + 2];
        bool is_size = strcmp(what, "buffer-kb") == 0;
        uint64_t kb = 0;
        if (is_size ? !parse_kb(how, &kb) : strcmp(how, "on") != 0 && strcmp(how, "off") != 0) {
                tell(is_size ? "%s: '%s': a number of kB per CPU is wanted"
                             : "%s: '%s': on or off is wanted for an event; what else can be set is buffer-kb",
                                what,
                                how);
                return KT_EXIT_USAGE;
        }
        r = proxy_open(&proxy, &reason);
        r = r ?: proxy_resolve(proxy, argv[optind], &path, &reason);
        if (r == 0)
                r = is_size ? proxy_resize(proxy, path, kb, &reason)
                            : proxy_switch_event(
                                              proxy, path, what, strcmp(how, "on") == 0, &reason);
        return r == 0 ? KT_EXIT_OK : tell_failure(r, &reason);
}

const Verb verb_set = {
        .name = "set",
        .arguments = "SESSION EVENT on|off | SESSION buffer-kb N",
        .summary = "Record an event of a session no longer, or again; change its buffer",
        .help = "EVENT is one that the session has, or a glob of them. N: kB per CPU.\n",
        .run = set_run,
};

const Verb verb_clear = {
        .name = "clear",
        .arguments = "SESSION",
        .summary = "Drop what a session's buffer holds",
        .help = "Of traces of all processes.\n",
        .run = clear_run,
};

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
