/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl create: creates a session that continues after this process, and prints its id. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "interfaces/spec-json.h"
#include "spec/caret.h"
#include "spec/spec-options.h"
#include "terminal/table.h"
#include "verbs/container-scope.h"
#include "verbs/verb.h"

static int create_parse(SpecOptions *spec,
                Context *context,
                int argc,
                char **argv,
                int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL, SPEC_OPTIONS_LONG, {} };
        int option;

        while ((option = options_next(context,
                                argc,
                                argv,
                                "hq" SPEC_OPTIONS_SHORT,
                                options,
                                ret_status)) >= 0) {
                Reason reason = {};
                int r = spec_options_take(spec, option, optarg, &reason);

                if (r != 0) {
                        *ret_status = message_fail(r, &reason);
                        return OPTIONS_EXIT;
                }
        }
        return option == OPTIONS_END ? options_count(context, argc, argv, 1, 1, ret_status)
                                     : option;
}

static void create_print(const Context *context, const char *id) {
        _cleanup_free_ char *path = NULL;
        _cleanup_json_ json_object *object = json_object_new_object();

        if (context->json == JSON_OFF || !object || proxy_make_path(id, &path) < 0) {
                printf("%s\n", id);
                return;
        }
        (void)json_object_object_add(object, "id", json_object_new_string(id));
        (void)json_object_object_add(object, "path", json_object_new_string(path));
        table_print_json(context, object);
}

/* A policy rule may limit how long the session lingers. The session already exists, so an error
 * of this query is not reported. */
static void create_report_lifetime(Proxy *proxy, const Spec *spec, const char *id) {
        _cleanup_json_ json_object *session = NULL;
        Reason reason = {};

        if (spec->lifetime != LIFETIME_LINGER || spec->linger_usec > 0 ||
                        proxy_get(proxy, id, "Describe", NULL, &session, &reason) != 0)
                return;
        const char *lifetime = json_object_get_string(json_object_object_get(
                        json_object_object_get(session, "spec"), "lifetime"));
        if (lifetime && strcmp(lifetime, "linger") != 0)
                message_print("%s: the policy rule lets the session linger for a limited time: its "
                              "lifetime is %s from now on",
                                spec->name ?: id,
                                lifetime);
}

static int create_execute(SpecOptions *options, const Context *context, const char *name) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *object = NULL;
        _cleanup_free_ char *id = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        _cleanup_(origins_done) Origins origins = {};
        Reason reason = {};

        options->origins = &origins;
        int r = container_scope_take(options, context, &reason);

        r = r ?: spec_options_build(options, 0, name, "linger", &spec, &reason);

        if (r == 0 && spec->lifetime == LIFETIME_CLIENT)
                r = reason_set(&reason,
                                KT_E_INVALID_SPEC,
                                "lifetime: a session of lifetime client would end with this command: write linger, linger:TIME or unit:NAME");
        if (r == 0)
                r = spec_complete(spec, &reason);
        if (r == 0)
                r = spec_to_json(spec, &object);
        if (r == 0)
                r = proxy_open(context->door, &proxy, &reason);
        if (r == 0) {
                proxy->may_ask = context->ask_password;
                r = proxy_create(proxy, object, &id, &reason);
        }
        if (r != 0)
                return caret_report_failure(object, &origins, r, &reason);
        if (!context->quiet)
                create_report_lifetime(proxy, spec, id);
        create_print(context, id);
        return KT_EXIT_OK;
}

static int create_run(Context *context, int argc, char **argv) {
        SpecOptions options = {};
        int status;

        if (create_parse(&options, context, argc, argv, &status) == OPTIONS_END)
                status = create_execute(&options, context, argv[optind]);
        spec_options_done(&options);
        return status;
}

const Verb verb_create = {
        .name = "create",
        .arguments = "NAME",
        .summary = "Make a session that stays until it is destroyed, and print its id",
        .help = "'ktracectl start NAME' starts it, and 'ktracectl stream NAME' reads "
                "it.\n"
                "The default lifetime is linger; the keys below have that of 'record'. Lifetime\n"
                "client is refused, because the session would end with this command.\n",
        .print_more = spec_options_print_help,
        .traces = true,
        .run = create_run,
};
