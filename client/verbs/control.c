/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl start, stop, destroy, clear: each calls one method per session. set: changes a
 * session. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call/proxy-session.h"
#include "verbs/administrator.h"
#include "verbs/verb.h"

#define SESSIONS_MAX 1024

/* is_alone: with one session, an error need not name it. */
static int call_one(Context *context,
                Proxy *proxy,
                const char *name,
                const char *member,
                bool is_alone) {
        _cleanup_free_ char *session = NULL;
        Reason reason = {};

        int r = administrator_resolve(context, proxy, name, &session, &reason);
        r = r ?: proxy_order(proxy, session, member, NULL, &reason);
        if (r > 0 && !is_alone && reason.text[0] && strncmp(reason.text, name, strlen(name)) != 0) {
                Reason inner = reason;

                r = reason_set(&reason, r, "%s: %s", name, inner.text);
        }
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

/* An error for one session does not stop the others. */
static int control_call(Context *context, int argc, char **argv, const char *member) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        int status = KT_EXIT_OK;
        Reason reason = {};

        if (options_parse(context, argc, argv, 1, SESSIONS_MAX, &status) != OPTIONS_END)
                return status;
        int r = proxy_open(context->door, &proxy, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        status = KT_EXIT_OK;
        for (int i = optind; i < argc; i++) {
                int one = call_one(context, proxy, argv[i], member, argc == optind + 1);

                status = status ?: one;
        }
        return status;
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

/* strtoull would accept signs and spaces. A number that is too long exceeds every limit. */
static bool parse_kb(const char *text, uint64_t *ret) {
        char *end;

        *ret = strtoull(text, &end, 10);
        return *text >= '0' && *text <= '9' && !*end;
}

/* The event is a name or a glob. */
static int control_switch_event(Proxy *proxy,
                const char *session,
                const char *event,
                bool is_on,
                Reason *reason) {
        json_object *events = json_object_new_array();

        if (!events || json_object_array_add(events, json_object_new_string(event)) < 0) {
                json_object_put(events);
                return -ENOMEM;
        }
        return proxy_configure(proxy, session, is_on ? "events-on" : "events-off", events, reason);
}

static int set_run(Context *context, int argc, char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_free_ char *session = NULL;
        Reason reason = {};
        int status, r;

        if (options_parse(context, argc, argv, 3, 3, &status) != OPTIONS_END)
                return status;
        const char *what = argv[optind + 1], *how = argv[optind + 2];
        bool is_size = strcmp(what, "buffer-kb") == 0;
        uint64_t kb = 0;
        if (is_size ? !parse_kb(how, &kb) : strcmp(how, "on") != 0 && strcmp(how, "off") != 0) {
                message_print(is_size ? "%s: expected a number of kB per CPU such as 4096, got \"%s\""
                                      : "%s: expected on or off, got \"%s\"; a number is for buffer-kb only",
                                what,
                                how);
                return KT_EXIT_USAGE;
        }
        r = proxy_open(context->door, &proxy, &reason);
        r = r ?: proxy_resolve(proxy, argv[optind], &session, &reason);
        if (r == 0)
                r = is_size ? proxy_configure(proxy,
                                              session,
                                              "buffer-kb",
                                              json_object_new_uint64(kb),
                                              &reason)
                            : control_switch_event(proxy,
                                              session,
                                              what,
                                              strcmp(how, "on") == 0,
                                              &reason);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

const Verb verb_set = {
        .name = "set",
        .arguments = "SESSION EVENT on|off | SESSION buffer-kb N",
        .summary = "Turn an event of a session on or off, or change its buffer",
        .help = "EVENT is an event of the session, or a glob. N is in kB per CPU.\n",
        .run = set_run,
};

const Verb verb_clear = {
        .name = "clear",
        .arguments = "SESSION...",
        .summary = "Drop the contents of a session's buffer",
        .help = "Only for traces of all processes.\n",
        .run = clear_run,
};

const Verb verb_start = {
        .name = "start",
        .arguments = "SESSION...",
        .summary = "Start recording; returns once every event is live on every CPU",
        .run = start_run,
};

const Verb verb_stop = {
        .name = "stop",
        .arguments = "SESSION...",
        .summary = "Stop recording; returns once no further event can arrive",
        .help = "Recorded events stay and can be read; 'start' continues.\n"
                "\n" HELP_ADMINISTRATOR,
        .manages = true,
        .run = stop_run,
};

const Verb verb_destroy = {
        .name = "destroy",
        .arguments = "SESSION...",
        .summary = "End a session and take everything of it out of the kernel",
        .help = HELP_ADMINISTRATOR,
        .manages = true,
        .run = destroy_run,
};
