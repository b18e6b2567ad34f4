/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include "interfaces/cleanup.h"

typedef struct Verb Verb;

typedef enum JsonMode {
        JSON_OFF,
        JSON_SHORT,
        JSON_PRETTY,
} JsonMode;

/* The options that every verb shares, as given so far. */
typedef struct Context {
        const struct Verb *verb; /* NULL before it is known */
        JsonMode json;
        bool legend;
        bool pager;
        bool quiet;
        bool ask_password;
        bool administrator; /* sessions of others too, of verbs that manage them */
} Context;

enum {
        OPTION_JSON = 0x100,
        OPTION_NO_PAGER,
        OPTION_NO_LEGEND,
        OPTION_NO_ASK_PASSWORD,
        OPTION_ADMINISTRATOR,
        OPTION_VARLINK,
        OPTION_HELP,
        OPTION_VERSION,
        OPTION_VERB, /* a verb's own long options count from here */
};

/* Stands first in every verb's `struct option` table. */
/* clang-format off */
#define OPTIONS_GLOBAL                                                          \
        { "json",            optional_argument, NULL, OPTION_JSON },            \
        { "no-pager",        no_argument,       NULL, OPTION_NO_PAGER },        \
        { "no-ask-password", no_argument,       NULL, OPTION_NO_ASK_PASSWORD }, \
        { "no-legend",       no_argument,       NULL, OPTION_NO_LEGEND },       \
        { "varlink",         no_argument,       NULL, OPTION_VARLINK },         \
        { "quiet",           no_argument,       NULL, 'q' },                    \
        { "help",            no_argument,       NULL, OPTION_HELP },            \
        { "version",         no_argument,       NULL, OPTION_VERSION }
/* clang-format on */

/* What options_next returns beside a verb's own options. */
#define OPTIONS_END  (-1) /* optind is at the first argument */
#define OPTIONS_EXIT (-2) /* all was said; leave with *ret_status */

/* getopt_long that takes the global options itself and says what is wrong with any other.
 * short_options: the verb's own and always "hq"; a leading '+' stops at the first argument. */
int options_next(Context *context,
                int argc,
                char **argv,
                const char *short_options,
                const struct option *long_options,
                int *ret_status);
/* A verb without options of its own, but for --administrator where it manages sessions:
 * OPTIONS_END, or OPTIONS_EXIT. Refuses fewer than min and more than max arguments. */
int options_parse(Context *context, int argc, char **argv, int min, int max, int *ret_status);
/* The check of options_parse for verbs with options: arguments from optind on. */
int options_count(const Context *context, int argc, char **argv, int min, int max, int *ret_status);

void verb_print_help(const Verb *verb);
