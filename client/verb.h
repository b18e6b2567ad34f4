/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include "error.h"

typedef enum JsonMode {
        JSON_OFF,
        JSON_SHORT,
        JSON_PRETTY,
} JsonMode;

typedef struct Verb Verb;

/* The options that every verb shares, as given so far. */
typedef struct Context {
        const Verb *verb;
        JsonMode json;
        bool legend;
        bool pager;
        bool quiet;
} Context;

/* One command. Each verb's file defines its own as `const Verb verb_NAME`; main.c lists them. */
struct Verb {
        const char *name;
        const char *arguments; /* behind the name in --help: "[GLOB]" */
        const char *summary;   /* one line */
        const char *help;      /* its own options and what to know, whole lines; NULL: none */
        void (*print_more)(void);
        bool paged; /* its listing may go through a pager */
        /* argv[0] is the verb's name. Returns the exit status. */
        int (*run)(Context *context, int argc, char **argv);
};

extern const Verb verb_convert;
extern const Verb verb_create;
extern const Verb verb_destroy;
extern const Verb verb_events;
extern const Verb verb_list;
extern const Verb verb_record;
extern const Verb verb_report;
extern const Verb verb_show;
extern const Verb verb_start;
extern const Verb verb_status;
extern const Verb verb_stop;
extern const Verb verb_stream;
extern const Verb verb_verify;

enum {
        OPTION_JSON = 0x100,
        OPTION_NO_PAGER,
        OPTION_NO_LEGEND,
        OPTION_HELP,
        OPTION_VERSION,
        OPTION_VERB, /* a verb's own long options count from here */
};

/* Stands first in every verb's `struct option` table. `q` and `h` are in every short string. */
/* clang-format off */
#define OPTIONS_GLOBAL                                            \
        { "json",      optional_argument, NULL, OPTION_JSON },      \
        { "no-pager",  no_argument,       NULL, OPTION_NO_PAGER },  \
        { "no-legend", no_argument,       NULL, OPTION_NO_LEGEND }, \
        { "quiet",     no_argument,       NULL, 'q' },              \
        { "help",      no_argument,       NULL, OPTION_HELP },      \
        { "version",   no_argument,       NULL, OPTION_VERSION }
/* clang-format on */

/* What options_next returns beside a verb's own options. */
#define OPTIONS_END  (-1) /* optind is at the first argument */
#define OPTIONS_EXIT (-2) /* all was said; leave with *ret_status */

/* getopt_long that takes the global options itself and says what is wrong with any other.
 * short_options: the verb's own, for example "ho:q"; a leading '+' stops at the first argument. */
int options_next(Context *context,
                int argc,
                char **argv,
                const char *short_options,
                const struct option *long_options,
                int *ret_status);

/* Says `ktracectl: TEXT` on stderr, one line, control characters as '?'. */
void tell(const char *format, ...) _printf_(1, 2);
/* tell() and "see 'ktracectl VERB --help'"; returns KT_EXIT_USAGE. */
int tell_usage(const Context *context, const char *format, ...) _printf_(2, 3);
/* Tells reason (or, when it is empty, the code's own text or errno) and returns the exit status. */
int tell_failure(int code, const Reason *reason);
