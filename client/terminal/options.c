/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses options. The global options are accepted before and after the verb. An error of
 * getopt_long becomes a message of one line. main and all verbs call options_next, which returns
 * the verb's own options to them. getopt's state (optind) is global, so each verb starts again with
 * optind 0. Does not know the meaning of a verb's options. */

#include "terminal/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "terminal/help.h"
#include "terminal/message.h"

static int json_mode_from_string(const char *text, JsonMode *ret) {
        if (!text || strcmp(text, "pretty") == 0)
                *ret = JSON_PRETTY;
        else if (strcmp(text, "short") == 0)
                *ret = JSON_SHORT;
        else if (strcmp(text, "off") == 0)
                *ret = JSON_OFF;
        else
                return -EINVAL;
        return 0;
}

void verb_print_help(const Verb *verb) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        if (!out)
                return;
        fprintf(out,
                        "ktracectl %s%s%s\n\n%c%s.\n",
                        verb->name,
                        *verb->arguments ? " " : "",
                        verb->arguments,
                        toupper(verb->summary[0]),
                        verb->summary + 1);
        if (verb->help)
                fprintf(out, "\n%s", verb->help);
        if (verb->print_more)
                verb->print_more(out);
        fprintf(out, "\nGlobal options: see 'ktracectl --help'.\n");
        if (fclose(out) == 0)
                help_print(stdout, text);
}

/* Returns whether `option` is a global option. *ret_status is >= 0 when the program must exit. */
static bool options_take_global(Context *context, int option, int *ret_status) {
        *ret_status = -1;
        switch (option) {
        case OPTION_JSON:
                if (json_mode_from_string(optarg, &context->json) < 0)
                        *ret_status = message_show_usage(context,
                                        "--json: expected pretty, short or off, got \"%s\"",
                                        optarg);
                return true;
        case OPTION_NO_PAGER:
                context->pager = false;
                return true;
        case OPTION_NO_ASK_PASSWORD:
                context->ask_password = false;
                return true;
        case OPTION_ADMINISTRATOR:
                context->administrator = true;
                return true;
        case OPTION_VARLINK:
                context->door = PROXY_DOOR_VARLINK;
                return true;
        case 'H':
                /* The far side gets the command line of the near side: it is the host. */
                context->host = context->far ? NULL : optarg;
                return true;
        case 'M':
                if (context->container)
                        *ret_status = message_show_usage(context, "-M is given twice");
                context->container = optarg;
                return true;
        case OPTION_NO_LEGEND:
                context->legend = false;
                return true;
        case 'q':
                context->quiet = true;
                return true;
        case 'h':
        case OPTION_HELP:
                if (!context->verb)
                        return false; /* main prints its own help */
                verb_print_help(context->verb);
                *ret_status = KT_EXIT_OK;
                return true;
        case OPTION_VERSION:
                printf("ktracectl %s\n", KT_VERSION);
                *ret_status = KT_EXIT_OK;
                return true;
        default:
                return false;
        }
}

/* getopt reports a wrong short option in optopt only, and a wrong long option by its index in
 * argv. */
static int options_refuse(const Context *context, int option, char **argv) {
        const char *word = argv[optind - 1];
        bool is_long = strncmp(word, "--", 2) == 0;

        if (option == ':' && is_long)
                return message_show_usage(context, "%s: a value is missing", word);
        if (option == ':')
                return message_show_usage(context, "-%c: a value is missing", optopt);
        if (is_long && optopt)
                return message_show_usage(context, "%s: this option takes no value", word);
        if (is_long)
                return message_show_usage(context, "%s: no such option", word);
        return message_show_usage(context, "-%c: no such option", optopt);
}

/* Looks for -H after the verb, before any other option has an effect: with -H, files are read and
 * refused by the host. A mistake is found again by the caller. */
static void options_find_host(Context *context,
                int argc,
                char **argv,
                const char *accepted,
                const struct option *long_options) {
        int option;

        while ((option = getopt_long(argc, argv, accepted, long_options, NULL)) >= 0)
                if (option == 'H')
                        context->host = optarg;
        optind = 0;
}

/* Returns OPTIONS_END when the verb goes on here. The far side does not rely on what the near side
 * refuses. */
static int options_end(const Context *context, int *ret_status) {
        const Verb *verb = context->verb;

        if (context->container && verb && !verb->traces) {
                *ret_status = message_show_usage(context,
                                "-M %s: it is for verbs that trace processes: record, calls, "
                                "summary, top, hist and create",
                                context->container);
                return OPTIONS_EXIT;
        }
        if ((!context->host && !context->far) || !verb)
                return OPTIONS_END;
        if (verb->at_home)
                *ret_status = message_show_usage(context,
                                "-H%s%s: %s",
                                context->host ? " " : "",
                                context->host ?: "",
                                verb->at_home);
        else if (context_has_many_hosts(context) && verb->carries && !verb->carries_many)
                *ret_status = message_show_usage(context,
                                "-H %s: %s writes one output: expected one machine; 'record' and 'snapshot' take several",
                                context->host,
                                verb->name);
        else if (context->far)
                return OPTIONS_END;
        else if (verb->carries)
                return OPTIONS_END;
        else
                *ret_status = context->run_there(context);
        return OPTIONS_EXIT;
}

int options_next(Context *context,
                int argc,
                char **argv,
                const char *short_options,
                const struct option *long_options,
                int *ret_status) {
        char accepted[64];
        bool ordered = *short_options == '+';

        /* With the colon, getopt distinguishes a missing value from an unknown option. */
        (void)snprintf(accepted,
                        sizeof(accepted),
                        "%s:H:M:%s",
                        ordered ? "+" : "",
                        short_options + ordered);
        opterr = 0;
        if (optind == 0 && !context->far)
                options_find_host(context, argc, argv, accepted, long_options);
        for (;;) {
                int status, option;

                optopt = 0;
                option = getopt_long(argc, argv, accepted, long_options, NULL);
                if (option == -1)
                        return options_end(context, ret_status);
                if (option == '?' || option == ':') {
                        *ret_status = options_refuse(context, option, argv);
                        return OPTIONS_EXIT;
                }
                if (!options_take_global(context, option, &status)) {
                        if (context->host && context->verb && !context->verb->carries)
                                continue;
                        return option;
                }
                if (status >= 0) {
                        *ret_status = status;
                        return OPTIONS_EXIT;
                }
        }
}

int options_count(const Context *context,
                int argc,
                char **argv,
                int min,
                int max,
                int *ret_status) {
        const char *wanted = context->verb->arguments;

        if (argc - optind < min)
                *ret_status = message_show_usage(context,
                                strchr(wanted, '|') ? "%s: expected one of %s"
                                                    : "%s: %s is missing",
                                argv[0],
                                wanted);
        else if (argc - optind > max)
                *ret_status = message_show_usage(
                                context, "%s: one argument too many", argv[optind + max]);
        else
                return OPTIONS_END;
        return OPTIONS_EXIT;
}

int options_parse(Context *context, int argc, char **argv, int min, int max, int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL, {} };
        static const struct option managing[] = {
                OPTIONS_GLOBAL, { "administrator", no_argument, NULL, OPTION_ADMINISTRATOR }, {}
        };
        int option = options_next(context,
                        argc,
                        argv,
                        "hq",
                        context->verb->manages ? managing : options,
                        ret_status);

        if (option != OPTIONS_END)
                return OPTIONS_EXIT;
        return options_count(context, argc, argv, min, max, ret_status);
}
