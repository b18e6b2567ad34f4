/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "interfaces/spec.h"
#include "spec/origin.h"
#include "terminal/options.h"

typedef struct SpecOptionsEvent {
        const char *name;
        const char *filter;
        bool is_probe;
        bool is_off;
} SpecOptionsEvent;

/* The words of the command line that describe the session of `record` or `create`. */
typedef struct SpecOptions {
        SpecOptionsEvent *events;
        size_t n_events;
        const char *triggers[SPEC_TRIGGERS_MAX]; /* trigger-option.h parses them */
        size_t n_triggers;
        const char *where;
        const char *scope;
        const char *scope_option; /* -a, -u, -M or --scope; NULL: none of them */
        const char *scope_text;   /* its text; NULL: it has none */
        char *pids;               /* of all -p options, joined */
        char *unit;               /* the scope from -u */
        char *container;          /* the scope from -M */
        bool has_inner_pids;      /* record the pids that the container uses */
        const char *buffer;
        const char *clock;
        const char *compression;
        const char *mode;
        const char *mode_option; /* another option that sets the mode; NULL: --mode */
        const char *lifetime;
        const char *file;
        const char *cpus;
        const char *instance;
        const char *tracer;
        const char **functions;
        size_t n_functions;
        bool stacktrace;
        bool locked;
        bool shares;
        bool unredacted;
        bool has_spool;
        bool ships;
        const char *spool; /* its size; NULL: the default of policy */
        Origins *origins;  /* gets the origin of each word; borrowed; may be NULL */
} SpecOptions;

enum {
        OPTION_WHERE = OPTION_VERB,
        OPTION_SCOPE,
        OPTION_CLOCK,
        OPTION_MODE,
        OPTION_LIFETIME,
        OPTION_SPEC,
        OPTION_UNREDACTED,
        OPTION_PROBE,
        OPTION_TRIGGER,
        OPTION_OFF,
        OPTION_CPUS,
        OPTION_INSTANCE,
        OPTION_TRACER,
        OPTION_FUNCTION,
        OPTION_STACKTRACE,
        OPTION_LOCKED,
        OPTION_SHARE,
        OPTION_SPOOL,
        OPTION_SHIP,
        OPTION_COMPRESSION,
        OPTION_SPEC_END, /* a verb's own long options begin here */
};

#define SPEC_OPTIONS_SHORT "e:f:ap:u:b:"

/* clang-format off */
#define SPEC_OPTIONS_LONG                                    \
        { "event",    required_argument, NULL, 'e' },            \
        { "filter",   required_argument, NULL, 'f' },            \
        { "probe",    required_argument, NULL, OPTION_PROBE },   \
        { "trigger",  required_argument, NULL, OPTION_TRIGGER }, \
        { "off",      no_argument,       NULL, OPTION_OFF },     \
        { "where",    required_argument, NULL, OPTION_WHERE },   \
        { "scope",    required_argument, NULL, OPTION_SCOPE },   \
        { "all",      no_argument,       NULL, 'a' },            \
        { "pid",      required_argument, NULL, 'p' },            \
        { "unit",     required_argument, NULL, 'u' },            \
        { "buffer",   required_argument, NULL, 'b' },            \
        { "clock",    required_argument, NULL, OPTION_CLOCK },   \
        { "mode",     required_argument, NULL, OPTION_MODE },    \
        { "lifetime", required_argument, NULL, OPTION_LIFETIME }, \
        { "spec",     required_argument, NULL, OPTION_SPEC },    \
        { "cpus",     required_argument, NULL, OPTION_CPUS },    \
        { "instance", required_argument, NULL, OPTION_INSTANCE }, \
        { "tracer",   required_argument, NULL, OPTION_TRACER },  \
        { "function", required_argument, NULL, OPTION_FUNCTION }, \
        { "stacktrace", no_argument,     NULL, OPTION_STACKTRACE }, \
        { "locked",   no_argument,       NULL, OPTION_LOCKED },  \
        { "share",    no_argument,       NULL, OPTION_SHARE },   \
        { "spool",    optional_argument, NULL, OPTION_SPOOL },   \
        { "ship",     no_argument,       NULL, OPTION_SHIP },    \
        { "compression", required_argument, NULL, OPTION_COMPRESSION }, \
        { "unredacted", no_argument,     NULL, OPTION_UNREDACTED }
/* clang-format on */

void spec_options_done(SpecOptions *options);
/* Takes one of the options above. Returns 0, -ENOMEM, or KT_E_INVALID_SPEC with reason. text is
 * borrowed. */
int spec_options_take(SpecOptions *options, int option, const char *text, Reason *reason);
/* The scope of -M: the container's name, and its cgroup. name is borrowed. As above. */
int spec_options_set_container(SpecOptions *options,
                const char *name,
                const char *cgroup,
                Reason *reason);
/* Makes a spec from all options. command: the process that is not released yet, 0: none. It is the
 * scope unless an option sets another. name and lifetime are used when not NULL; another lifetime
 * in the options wins. The spec is not yet complete (spec_complete). Errors name words of the
 * command line; so do later errors that are passed to origins_name(). */
int spec_options_build(const SpecOptions *options,
                pid_t command,
                const char *name,
                const char *lifetime,
                Spec **ret,
                Reason *reason);
/* Parses a size such as "64M" to bytes. Returns 0 or -EINVAL. */
int spec_options_parse_size(const char *text, uint64_t *ret);
/* Whether --spool= accepts the text as a size, such as "64M". */
bool spec_options_is_size(const char *text);
/* Prints the options' part of --help, with the limits from the spec's field table. */
void spec_options_print_help(FILE *out);
