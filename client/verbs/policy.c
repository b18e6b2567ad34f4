/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl policy check, explain, reload.
 *
 * check works without a running daemon, so rules can be checked before they are active and on any
 * machine. Only the daemon's code knows the rules' syntax, and the client does not contain that
 * code. So check runs the daemon's binary with the caller's rights; in this mode the binary does
 * nothing else. explain and reload call the daemon over the bus. */

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "interfaces/spec-json.h"
#include "spec/spec-file.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/verb.h"

enum {
        OPTION_USER = OPTION_VERB,
};

/* check */

static int policy_check(Context *context, int argc, char **argv) {
        _cleanup_free_ char *option = NULL;
        char *words[3] = { (char *)"ktraced", NULL, NULL };

        if (argc > 2)
                return message_show_usage(context, "%s: one argument too many", argv[2]);
        if (asprintf(&option, "--check-policy%s%s", argc > 1 ? "=" : "", argc > 1 ? argv[1] : "") <
                        0) {
                option = NULL;
                return message_fail(-ENOMEM, &(Reason){});
        }
        words[1] = option;
        (void)execv(KT_DAEMON_BINARY, words);
        /* The binary is built but not installed in its directory, so it is searched in PATH. */
        if (errno == ENOENT)
                (void)execvp(words[0], words);
        message_print("cannot run %s: %s", KT_DAEMON_BINARY, strerror(errno));
        return KT_EXIT_FAILED;
}

/* explain */

/* In a spec for `record` the command line supplies the command. This check looks at no process, so
 * it can use any PID. */
static int complete_scope(json_object *object) {
        const char *scope;
        char text[32];

        if (!json_object_is_type(object, json_type_object))
                return 0;
        scope = json_object_get_string(json_object_object_get(object, "scope"));
        if (scope && strcmp(scope, "command") != 0)
                return 0;
        (void)snprintf(text, sizeof(text), "command:%d", (int)getpid());
        return json_object_object_add(object, "scope", json_object_new_string(text));
}

/* Reads the file's spec and completes it, as for sending. Removes the name of an old session,
 * because the name may still be in use. */
static int policy_load_spec(const char *path, json_object **ret, Reason *reason) {
        _cleanup_(spec_file_free_cleanup) SpecFile *file = NULL;
        _cleanup_spec_ Spec *spec = spec_new();

        if (!spec)
                return -ENOMEM;
        int r = spec_file_open(path, &file, reason);
        if (r == 0 && spec_file_is_description(file))
                json_object_object_del(spec_file_get(file), "name");
        r = r ?: complete_scope(spec_file_get(file));
        r = r ?: spec_file_read(file, spec, reason);
        if (r == 0)
                r = spec_file_refuse(file, spec_complete(spec, reason), reason);
        return r ?: spec_to_json(spec, ret);
}

/* Accepts a name or a number. */
static int find_user(const char *text, uint64_t *ret, Reason *reason) {
        const struct passwd *user = getpwnam(text);
        char *end;

        if (user) {
                *ret = user->pw_uid;
                return 0;
        }
        errno = 0;
        unsigned long long number = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || errno || number >= UINT32_MAX)
                return reason_set(reason, KT_E_INVALID_SPEC, "--user %s: no such user", text);
        *ret = number;
        return 0;
}

/* Describes the "cut" of ktrace-stream(5) for humans. */
static const char *describe_how(json_object *cut) {
        static const struct {
                const char *how, *text;
        } known[] = {
                { "zero", "all" },
                { "pseudonym", "replaced" },
                { "words", "kernel addresses" },
                { "words-pseudonym", "kernel addresses replaced" },
                { "member", "unless of a traced task" },
        };

        const char *how = json_object_get_string(json_object_object_get(cut, "how"));

        for (size_t i = 0; how && i < ELEMENTSOF(known); i++)
                if (strcmp(how, known[i].how) == 0)
                        return known[i].text;
        return how ?: "";
}

/* Makes "raw_syscalls:sys_enter  (where id == 1)  less: args (kernel addresses)". */
static int format_event(json_object *event, char **ret) {
        json_object *redacted = json_object_object_get(event, "redacted");
        const char *filter = json_object_get_string(json_object_object_get(event, "filter")),
                   *joined = json_object_get_string(json_object_object_get(event, "policy-filter")),
                   *also_of = json_object_get_string(json_object_object_get(event, "also-of"));
        size_t n = json_object_is_type(redacted, json_type_array)
                                   ? json_object_array_length(redacted)
                                   : 0;
        size_t size = 0;

        _cleanup_fclose_ FILE *f = open_memstream(ret, &size);
        if (!f)
                return -ENOMEM;
        fputs(json_object_get_string(json_object_object_get(event, "name")), f);
        if (filter)
                fprintf(f, "  (where %s)", filter);
        if (joined)
                fprintf(f, "  (by the rule, where %s)", joined);
        for (size_t i = 0; i < n; i++) {
                json_object *cut = json_object_array_get_idx(redacted, i);

                fprintf(f,
                                "%s%s (%s)",
                                i == 0 ? "  less: " : ", ",
                                json_object_get_string(json_object_object_get(cut, "field")),
                                describe_how(cut));
        }
        if (also_of)
                fprintf(f,
                                "  also: records by others if %s is a traced task, without the others",
                                also_of);
        return 0;
}

static int format_list(json_object *answer,
                const char *key,
                int (*format)(json_object *item, char **ret)) {
        json_object *items = json_object_object_get(answer, key), *lines = json_object_new_array();
        size_t n = json_object_is_type(items, json_type_array) ? json_object_array_length(items)
                                                               : 0;
        int r = lines ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n; i++) {
                _cleanup_free_ char *line = NULL;

                r = format(json_object_array_get_idx(items, i), &line);
                if (r == 0 && line)
                        (void)json_object_array_add(lines, json_object_new_string(line));
        }
        if (r == 0 && json_object_object_add(answer, key, lines) == 0)
                return 0;
        json_object_put(lines);
        return r < 0 ? r : -ENOMEM;
}

static int format_request(json_object *request, char **ret) {
        return asprintf(ret,
                               "%s  %s of %s",
                               json_object_get_string(json_object_object_get(request, "pattern")),
                               json_object_get_string(json_object_object_get(request, "granted")),
                               json_object_get_string(json_object_object_get(request, "matched"))) <
                                               0
                               ? -ENOMEM
                               : 0;
}

/* Writes the trigger as a user does: "EVENT if FILTER do ACTION TARGET times N". */
static int format_trigger(json_object *trigger, char **ret) {
        static const char *const parts[][2] = { { "when", "" },
                { "filter", " if " },
                { "do", " do " },
                { "event", " " },
                { "hist", " " },
                { "count", " times " } };
        size_t size = 0;

        _cleanup_fclose_ FILE *f = open_memstream(ret, &size);
        if (!f)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                json_object *value = json_object_object_get(trigger, parts[i][0]);

                if (value)
                        fprintf(f, "%s%s", parts[i][1], json_object_get_string(value));
        }
        return 0;
}

static void format_limits(json_object *answer) {
        json_object *limits = json_object_object_get(answer, "limits"),
                    *lines = json_object_new_array();

        if (!limits || !lines) {
                json_object_put(lines);
                return;
        }
        json_object_object_foreach(limits, key, value) {
                char line[128];

                (void)snprintf(line, sizeof(line), "%s %s", key, json_object_get_string(value));
                (void)json_object_array_add(lines, json_object_new_string(line));
        }
        (void)json_object_object_add(answer, "limits", lines);
}

static size_t policy_count(json_object *answer, const char *key) {
        json_object *list = json_object_object_get(answer, key);

        return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* Policy allows the spec: all reasons are features that the kernel lacks. */
static bool is_up_to_kernel(json_object *answer) {
        return policy_count(answer, "lacks") > 0 &&
               policy_count(answer, "lacks") == policy_count(answer, "reasons");
}

static int print_answer(const Context *context, json_object *answer, bool allowed) {
        static const TableColumn columns[] = {
                { "decision", "Decision", false },
                { "reasons", "Reasons", false },
                { "rule", "Policy rule", false },
                { "polkit", "Polkit action", false },
                { "scope", "Scope", false },
                { "processes", "Processes", false },
                { "sinks", "Data goes to", false },
                { "requests", "Asked for", false },
                { "events", "Granted", false },
                { "triggers", "Triggers", false },
                { "sources", "Made of", false },
                { "limits", "Limits", false },
                { "notes", "Notes", false },
        };
        const char *polkit = json_object_get_string(json_object_object_get(answer, "polkit"));
        const char *decision = is_up_to_kernel(answer) ? "allowed, but this kernel cannot do it"
                               : !allowed              ? "denied"
                               : polkit && *polkit     ? "allowed, when polkit allows it"
                                                       : "allowed";

        if (context->json != JSON_OFF) {
                table_print_json(context, answer);
                return 0;
        }
        int r = format_list(answer, "events", format_event);
        r = r ?: format_list(answer, "requests", format_request);
        r = r ?: format_list(answer, "triggers", format_trigger);
        if (r < 0)
                return r;
        format_limits(answer);
        (void)json_object_object_add(answer, "decision", json_object_new_string(decision));
        table_print_object(answer, columns, ELEMENTSOF(columns));
        return 0;
}

static int policy_explain(const Context *context, const char *path, const char *user) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *spec = NULL, *answer = NULL;
        Reason reason = {};
        uint64_t uid = 0;

        int r = policy_load_spec(path, &spec, &reason);
        if (r == 0 && user)
                r = find_user(user, &uid, &reason);
        if (r == 0 && user &&
                        json_object_object_add(spec, "as-user", json_object_new_uint64(uid)) < 0)
                r = -ENOMEM;
        r = r ?: proxy_open(context->door, &proxy, &reason);
        r = r ?: proxy_check(proxy, spec, &answer, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        bool allowed = json_object_get_boolean(json_object_object_get(answer, "allowed"));
        r = print_answer(context, answer, allowed);
        if (r < 0)
                return message_fail(r, &reason);
        return allowed ? KT_EXIT_OK : is_up_to_kernel(answer) ? KT_EXIT_FAILED : KT_EXIT_DENIED;
}

/* reload */

static int reload(const Context *context) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        Reason reason = {};

        int r = proxy_open(context->door, &proxy, &reason);
        if (r == 0) {
                proxy->may_ask = context->ask_password;
                r = proxy_order(proxy, NULL, "Reload", NULL, &reason);
        }
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

static int policy_run(Context *context, int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_GLOBAL, { "user", required_argument, NULL, OPTION_USER }, {}
        };
        const char *user = NULL;
        int option, status;

        while ((option = options_next(context, argc, argv, "hq", options, &status)) >= 0)
                user = optarg;
        if (option != OPTIONS_END ||
                        options_count(context, argc, argv, 1, 3, &status) != OPTIONS_END)
                return status;
        argc -= optind;
        argv += optind;
        if (user && strcmp(argv[0], "explain") != 0)
                return message_show_usage(context, "--user is an option of explain");
        if (strcmp(argv[0], "check") == 0)
                return policy_check(context, argc, argv);
        if (strcmp(argv[0], "reload") == 0)
                return argc == 1 ? reload(context)
                                 : message_show_usage(
                                                   context, "%s: one argument too many", argv[1]);
        if (strcmp(argv[0], "explain") != 0)
                return message_show_usage(context,
                                "policy: expected check, explain or reload, got \"%s\"",
                                argv[0]);
        return argc == 2 ? policy_explain(context, argv[1], user)
                         : message_show_usage(context,
                                           "policy explain: expected one SPEC.json, or '-' for standard input");
}

const Verb verb_policy = {
        .name = "policy",
        .arguments = "check [FILE] | explain SPEC.json | reload",
        .summary = "Check the rules, explain what they grant, or reload them",
        .help = "check [FILE]         check whether the rules (this file of rules) are\n"
                "                     well-formed; warn of unknown users and groups. "
                "Needs no\n"
                "                     daemon.\n"
                "explain SPEC.json|-  show what a session of this spec would get, and "
                "by which\n"
                "                     rule, or all reasons against it. Exit status 3 if "
                "it would\n"
                "                     be denied, 1 if policy allows it and this kernel "
                "cannot do\n"
                "                     it\n"
                "  --user USER        explain it for this user; only for root\n"
                "reload               reload rules and limits; end sessions that are no "
                "longer\n"
                "                     allowed\n",
        .run = policy_run,
};
