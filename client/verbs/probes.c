/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl probes: lists what can be probed and which probes exist. The daemon answers for the
 * kernel, because only it can read the kernel's information about functions. The client itself
 * reads programs and libraries (probes-user.c). */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "call/definition-message.h"
#include "call/definition-pair.h"
#include "call/proxy.h"
#include "interfaces/nearest.h"
#include "program/elf-place.h"
#include "spec/caret.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/probes-load.h"
#include "verbs/probes-origin.h"
#include "verbs/probes-user.h"
#include "verbs/verb.h"

/* "add", a name, and the maximum number of arguments of a definition. */
#define WORDS_MAX 130

enum {
        OPTION_ON = OPTION_VERB,
        OPTION_RETURN,
        OPTION_EVENT,
        OPTION_FROM,
        OPTION_TO,
        OPTION_KEY,
        OPTION_RAW,
        OPTION_ABOUT,
        OPTION_USDT,
};

/* The daemon accepts 3 and reports more as an error. */
#define KEYS_MAX 8

typedef struct ProbeOptions {
        const char *on, *event, *raw, *about, *usdt;
        const char *from, *to, *keys[KEYS_MAX];
        size_t n_keys;
        bool is_return, verbose;
} ProbeOptions;

static const char *probes_get_text(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

/* resolve */

/* Replaces control characters, because the line goes to a terminal. */
static void probes_print_line(const char *line) {
        char text[1024];

        (void)snprintf(text, sizeof(text), "%s", line);
        message_clean(text);
        printf("%s\n", text);
}

static void print_pair(const char *indent, const char *left, int width, const char *right) {
        char text[512];

        (void)snprintf(text, sizeof(text), "%s%-*s %s", indent, width, left, right);
        probes_print_line(text);
}

static void print_function(json_object *function) {
        json_object *takes = json_object_object_get(function, "takes");
        size_t n = takes ? json_object_array_length(takes) : 0;
        const char *signature = probes_get_text(function, "signature");

        if (*signature)
                probes_print_line(signature);
        else
                print_pair("",
                                probes_get_text(function, "name"),
                                0,
                                probes_get_text(function, "note"));
        if (*probes_get_text(function, "module"))
                print_pair("", "in module", 0, probes_get_text(function, "module"));
        for (size_t i = 0; i < n; i++) {
                json_object *entry = json_object_array_get_idx(takes, i);

                print_pair("  ",
                                probes_get_text(entry, "expression"),
                                44,
                                probes_get_text(entry, "type"));
        }
}

static int probes_resolve(const Context *context,
                const ProbeOptions *options _unused_,
                int argc _unused_,
                char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *answer = NULL;
        _cleanup_free_ char *program = NULL;
        Reason reason = {};

        int r = elf_place_find(argv[1], &program);
        if (r == 0 && program)
                return probes_user_resolve(context, program);
        r = r ?: proxy_open(context->door, &proxy, &reason);
        if (r == 0)
                r = proxy_get(proxy, NULL, "ResolveFunction", argv[1], &answer, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        if (context->json != JSON_OFF)
                table_print_json(context, answer);
        else
                print_function(answer);
        return KT_EXIT_OK;
}

/* add, remove */

static int probes_add(const Context *context, const ProbeOptions *options, int argc, char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_free_ char *event = NULL, *program = NULL, *place = NULL;
        _cleanup_(origins_done) Origins origins = {};
        _cleanup_close_ int file = -1;
        Reason reason = {};
        int r = 0;
        DefinitionMessage definition = {
                .name = argv[1],
                .on = options->on,
                .event = options->event,
                .from = options->from,
                .to = options->to,
                .keys = options->keys,
                .n_keys = options->n_keys,
                .raw = options->raw,
                .about = options->about,
                .is_return = options->is_return,
                .args = argv + 2,
                .n_args = (size_t)argc - 2,
        };

        if (options->on)
                r = elf_place_find(options->on, &program);
        if (r == 0 && program) {
                r = probes_user_place(program, &place, &file, &reason);
                if (r > 0) {
                        const Reason inner = reason;

                        (void)reason_set(&reason, 0, "--on: %s", inner.text);
                }
                definition.on = place;
        }
        definition.file = file;
        r = r ?: probes_origin_add(&origins, &definition, options->on);
        r = r ?: proxy_open(context->door, &proxy, &reason);
        if (r == 0)
                proxy->may_ask = context->ask_password;
        r = r ?: definition_send(proxy, &definition, &event, &reason);
        if (definition_pair_is_meant(&definition, r, &reason)) {
                reason = (Reason){};
                origins_done(&origins); /* the parts have other lists of arguments */
                r = definition_pair_add(proxy, &definition, &event, &reason);
                if (r == 0 && !context->quiet)
                        message_print("paired by the kernel's events: %s_call and %s_return are defined too",
                                        definition.name,
                                        definition.name);
        }
        if (r != 0)
                return caret_report_failure(NULL, &origins, r, &reason);
        if (!context->quiet)
                printf("%s\n", event);
        return KT_EXIT_OK;
}

static int probes_remove(const Context *context,
                const ProbeOptions *options _unused_,
                int argc _unused_,
                char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        Reason reason = {};

        int r = proxy_open(context->door, &proxy, &reason);
        if (r == 0)
                r = proxy_order(proxy, NULL, "RemoveProbe", argv[1], &reason);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

/* list, show */

static int load_list(const Context *context, json_object **ret, Reason *reason) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;

        int r = proxy_open(context->door, &proxy, reason);
        if (r == 0)
                r = proxy_get(proxy, NULL, "ListProbes", NULL, ret, reason);
        return r;
}

/* Makes one line for each field, such as "dport u16 (__be16)". */
static int join_fields(json_object *probe) {
        json_object *fields = json_object_object_get(probe, "fields");
        json_object *lines = json_object_new_array();

        if (!lines)
                return -ENOMEM;
        for (size_t i = 0; fields && i < json_object_array_length(fields); i++) {
                json_object *field = json_object_array_get_idx(fields, i);
                const char *type = probes_get_text(field, "c-type");
                char text[256];

                (void)snprintf(text,
                                sizeof(text),
                                "%s: %s%s%s%s",
                                probes_get_text(field, "name"),
                                probes_get_text(field, "type"),
                                *type ? " (" : "",
                                type,
                                *type ? ")" : "");
                json_object_array_add(lines, json_object_new_string(text));
        }
        return json_object_object_add(probe, "fields", lines);
}

/* Shows the places in hexadecimal, as users write them. */
static int show_places(json_object *probe) {
        json_object *places = json_object_object_get(probe, "places"), *lines;

        if (!places)
                return 0;
        lines = json_object_new_array();
        if (!lines)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(places); i++) {
                char text[24];

                (void)snprintf(text,
                                sizeof(text),
                                "%#jx",
                                (uintmax_t)json_object_get_uint64(
                                                json_object_array_get_idx(places, i)));
                json_object_array_add(lines, json_object_new_string(text));
        }
        return json_object_object_add(probe, "places", lines);
}

static void print_probe(json_object *probe) {
        static const TableColumn columns[] = {
                { "name", "Name", false },
                { "event", "Event", false },
                { "about", "About", false },
                { "source", "File", false },
                { "uid", "Defined by uid", false },
                { "definition", "Definition", false },
                { "resolved", "Resolved", false },
                { "state", "State", false },
                { "why", "Why", false },
                { "file", "Program", false },
                { "file-state", "Program is", false },
                { "places", "Places in it", false },
                { "fields", "Fields", false },
                { "users", "Sessions", false },
                { "hits", "Hits", false },
                { "misses", "Misses", false },
        };

        if (join_fields(probe) == 0 && show_places(probe) == 0)
                table_print_object(probe, columns, ELEMENTSOF(columns));
}

/* Prints each reason once: without kprobes in the kernel, most probes have the same reason. */
static void report_unavailable(json_object *list) {
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *probe = json_object_array_get_idx(list, i);
                bool is_reported = strcmp(probes_get_text(probe, "state"), "unavailable") != 0;

                for (size_t j = 0; !is_reported && j < i; j++) {
                        json_object *before = json_object_array_get_idx(list, j);

                        is_reported = strcmp(probes_get_text(before, "state"), "unavailable") ==
                                                      0 &&
                                      strcmp(probes_get_text(before, "why"),
                                                      probes_get_text(probe, "why")) == 0;
                }
                if (!is_reported)
                        message_print("unavailable: %s", probes_get_text(probe, "why"));
        }
}

static int probes_list(const Context *context,
                const ProbeOptions *options,
                int argc _unused_,
                char **argv _unused_) {
        static const TableColumn columns[] = {
                { "name", "NAME", false },
                { "state", "STATE", false },
                { "users", "SESSIONS", true },
                { "definition", "DEFINITION", false },
        };
        _cleanup_json_ json_object *list = NULL;
        Reason reason = {};

        if (options->usdt)
                return probes_user_list(context, options->usdt);
        int r = load_list(context, &list, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        if (!options->verbose || context->json != JSON_OFF) {
                table_print(context, list, columns, ELEMENTSOF(columns), "probe");
                if (!context->quiet && context->json == JSON_OFF) {
                        (void)fflush(stdout);
                        report_unavailable(list);
                }
                return KT_EXIT_OK;
        }
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                printf("%s", i > 0 ? "\n" : "");
                print_probe(json_object_array_get_idx(list, i));
        }
        return KT_EXIT_OK;
}

static int probes_show(const Context *context,
                const ProbeOptions *options _unused_,
                int argc _unused_,
                char **argv) {
        const char *name = argv[1];
        Nearest near = { name, (uint32_t)MIN_OF(strlen(name) / 3 + 1, (size_t)3), NULL };
        _cleanup_json_ json_object *list = NULL;
        Reason reason = {};

        int r = load_list(context, &list, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *probe = json_object_array_get_idx(list, i);

                nearest_consider(&near, probes_get_text(probe, "name"));
                if (strcmp(probes_get_text(probe, "name"), name) != 0 &&
                                strcmp(probes_get_text(probe, "event"), name) != 0)
                        continue;
                if (context->json != JSON_OFF)
                        table_print_json(context, probe);
                else
                        print_probe(probe);
                return KT_EXIT_OK;
        }
        r = reason_set(&reason,
                        KT_E_NO_SUCH_PROBE,
                        "%s: no such probe; %s%s%s'ktracectl probes list' shows them",
                        name,
                        near.name ? "did you mean " : "",
                        near.name ?: "",
                        near.name ? "? " : "");
        return message_fail(r, &reason);
}

static int probes_load_file(const Context *context,
                const ProbeOptions *options _unused_,
                int argc _unused_,
                char **argv) {
        return probes_load_run(context, argv[1]);
}

/* The verb */

static int check_options(const Context *context, const ProbeOptions *o, const char *what) {
        bool is_add = strcmp(what, "add") == 0;

        if (!is_add && (o->on || o->event || o->from || o->to || o->n_keys > 0 || o->raw ||
                                       o->about || o->is_return))
                return message_show_usage(context,
                                "--on, --return, --event, --from, --to, --key, --raw and --about are "
                                "options of add");
        if (is_add && !o->on && !o->raw && !o->event && !o->from && !o->to)
                return message_show_usage(context,
                                "probes add: expected --on FUNCTION or --event SYSTEM:EVENT");
        if ((o->verbose || o->usdt) && strcmp(what, "list") != 0)
                return message_show_usage(context, "-v and --usdt are options of list");
        return KT_EXIT_OK;
}

static int probes_execute(const Context *context,
                const ProbeOptions *options,
                int argc,
                char **argv) {
        static const struct {
                const char *what;
                int min, max; /* number of words, including the command */
                int (*run)(const Context *, const ProbeOptions *, int, char **);
        } words[] = {
                { "add", 2, WORDS_MAX, probes_add },
                { "list", 1, 1, probes_list },
                { "load", 2, 2, probes_load_file },
                { "remove", 2, 2, probes_remove },
                { "resolve", 2, 2, probes_resolve },
                { "show", 2, 2, probes_show },
        };

        size_t i = 0;

        while (i < ELEMENTSOF(words) && strcmp(argv[0], words[i].what) != 0)
                i++;
        if (i == ELEMENTSOF(words))
                return message_show_usage(context,
                                "probes: expected add, list, load, remove, resolve or show, got \"%s\"",
                                argv[0]);
        if (argc < words[i].min || argc > words[i].max)
                return message_show_usage(context,
                                argc < words[i].min ? "probes %s: expected a name"
                                                    : "probes %s: too many arguments",
                                argv[0]);
        int status = check_options(context, options, argv[0]);
        return status != KT_EXIT_OK ? status : words[i].run(context, options, argc, argv);
}

static int probes_run(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "on", required_argument, NULL, OPTION_ON },
                { "return", no_argument, NULL, OPTION_RETURN },
                { "event", required_argument, NULL, OPTION_EVENT },
                { "from", required_argument, NULL, OPTION_FROM },
                { "to", required_argument, NULL, OPTION_TO },
                { "key", required_argument, NULL, OPTION_KEY },
                { "raw", required_argument, NULL, OPTION_RAW },
                { "about", required_argument, NULL, OPTION_ABOUT },
                { "usdt", required_argument, NULL, OPTION_USDT },
                { "verbose", no_argument, NULL, 'v' },
                {} };
        ProbeOptions o = {};
        int option, status;

        while ((option = options_next(context, argc, argv, "hqv", options, &status)) >= 0)
                switch (option) {
                case OPTION_ON:
                        o.on = optarg;
                        break;
                case OPTION_EVENT:
                        o.event = optarg;
                        break;
                case OPTION_FROM:
                        o.from = optarg;
                        break;
                case OPTION_TO:
                        o.to = optarg;
                        break;
                case OPTION_KEY:
                        if (o.n_keys == KEYS_MAX)
                                return message_show_usage(context, "probes add: too many --key");
                        o.keys[o.n_keys++] = optarg;
                        break;
                case OPTION_RAW:
                        o.raw = optarg;
                        break;
                case OPTION_ABOUT:
                        o.about = optarg;
                        break;
                case OPTION_USDT:
                        o.usdt = optarg;
                        break;
                case OPTION_RETURN:
                        o.is_return = true;
                        break;
                default:
                        o.verbose = true;
                }
        if (option != OPTIONS_END ||
                        options_count(context, argc, argv, 1, WORDS_MAX, &status) != OPTIONS_END)
                return status;
        return probes_execute(context, &o, argc - optind, argv + optind);
}

const Verb verb_probes = {
        .name = "probes",
        .arguments = "add NAME | list | show NAME | …",
        .summary = "Define probes on functions of the kernel and of programs, and see what there is",
        .help = "add NAME --on FUNCTION [ARG…]\n"
                "                     define a probe; an ARG is '[NAME =] EXPRESSION [: "
                "TYPE]',\n"
                "                     as 'dport = sk.__sk_common.skc_dport'; "
                "ktrace-probes(5)\n"
                "add NAME --on FILE:SYMBOL[+OFFSET] | FILE:SOURCE:LINE | "
                "FILE:PROVIDER:MARKER |\n"
                "         FILE:0xOFFSET [ARG…]\n"
                "                     define it in a program or library; FILE has a "
                "slash in it\n"
                "  --return           at the function's return; $retval is the returned "
                "value\n"
                "  --event SYSTEM:EVENT\n"
                "                     on an event, with its fields; instead of --on\n"
                "  --from EVENT --to EVENT --key 'FIELD = FIELD'\n"
                "                     on two events with the same key; with their "
                "fields\n"
                "                     from.FIELD and to.FIELD, and $latency, the time "
                "between\n"
                "                     them; an EVENT is SYSTEM:EVENT or the name of a "
                "probe;\n"
                "                     instead of --on\n"
                "  --raw DEFINITION   in the kernel's own syntax; instead of --on\n"
                "  --about TEXT       a description of one line\n"
                "load FILE            define all probes of a file like those of the "
                "catalogue, or\n"
                "                     none\n"
                "list                 list the probes of the catalogue and of users\n"
                "  -v, --verbose      with all their properties\n"
                "  --usdt FILE|PID    list the markers of a program, of a library, or "
                "of all\n"
                "                     files that a process has loaded\n"
                "show NAME            show all properties of one probe\n"
                "remove NAME          remove one of your own\n"
                "resolve FUNCTION     show its signature, and the expressions for it;\n"
                "                     MODULE:FUNCTION\n"
                "resolve FILE:SYMBOL[+OFFSET], FILE:SOURCE:LINE, FILE:0xOFFSET\n"
                "                     show the place in the file of a program or "
                "library; FILE\n"
                "                     has a slash in it\n",
        .paged = true,
        .run = probes_run,
};
