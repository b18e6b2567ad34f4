/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <getopt.h>

#include "terminal/context.h"

enum {
        OPTION_JSON = 0x100,
        OPTION_NO_PAGER,
        OPTION_NO_LEGEND,
        OPTION_NO_ASK_PASSWORD,
        OPTION_ADMINISTRATOR,
        OPTION_VARLINK,
        OPTION_HELP,
        OPTION_VERSION,
        OPTION_VERB, /* a verb's own long options begin here */
};

/* The first line of every verb's `struct option` table. */
/* clang-format off */
#define OPTIONS_GLOBAL                                                          \
        { "json",            optional_argument, NULL, OPTION_JSON },            \
        { "no-pager",        no_argument,       NULL, OPTION_NO_PAGER },        \
        { "no-ask-password", no_argument,       NULL, OPTION_NO_ASK_PASSWORD }, \
        { "no-legend",       no_argument,       NULL, OPTION_NO_LEGEND },       \
        { "varlink",         no_argument,       NULL, OPTION_VARLINK },         \
        { "host",            required_argument, NULL, 'H' },                    \
        { "machine",         required_argument, NULL, 'M' },                    \
        { "quiet",           no_argument,       NULL, 'q' },                    \
        { "help",            no_argument,       NULL, OPTION_HELP },            \
        { "version",         no_argument,       NULL, OPTION_VERSION }
/* clang-format on */

/* Results of options_next other than a verb's own options. */
#define OPTIONS_END  (-1) /* optind is the first argument */
#define OPTIONS_EXIT (-2) /* exit with *ret_status */

/* Like getopt_long, but handles the global options and reports errors. short_options: the verb's
 * own and always "hq"; with a leading '+' it stops at the first argument. With -H, a verb that does
 * not carry runs on the host in here, and sees none of its options. */
int options_next(Context *context,
                int argc,
                char **argv,
                const char *short_options,
                const struct option *long_options,
                int *ret_status);
/* For a verb without its own options, except --administrator when it manages sessions. Returns
 * OPTIONS_END or OPTIONS_EXIT. Refuses fewer than min and more than max arguments. */
int options_parse(Context *context, int argc, char **argv, int min, int max, int *ret_status);
/* The check of options_parse, for verbs with options. Arguments begin at optind. */
int options_count(const Context *context, int argc, char **argv, int min, int max, int *ret_status);

void verb_print_help(const Verb *verb);
