/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "interfaces/spec.h"
#include "options.h"
#include "origin.h"

typedef struct SpecOptionsEvent {
        const char *name;
        const char *filter;
        bool is_probe;
        bool is_off;
} SpecOptionsEvent;

/* What `record` and `create` were told about the session, as words of the command line. */
typedef struct SpecOptions {
        SpecOptionsEvent *events;
        size_t n_events;
        const char *triggers[SPEC_TRIGGERS_MAX]; /* each a sentence, trigger-option.h */
        size_t n_triggers;
        const char *where;
        const char *scope;
        char *pids; /* of all -p, joined */
        char *unit; /* the scope that -u names */
        const char *buffer;
        const char *clock;
        const char *mode;
        const char *lifetime;
        const char *file;
        const char *cpus;
        const char *instance;
        const char *tracer;
        const char **functions;
        size_t n_functions;
        bool stacktrace;
        bool locked;
        bool unredacted;
        bool has_spool;
        const char *spool; /* its size; NULL: as policy has it */
        Origins *origins;  /* filled with where the words went; borrowed; NULL: nobody asks */
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
        OPTION_SPOOL,
        OPTION_SPEC_END, /* a verb's own long options count from here */
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
        { "spool",    optional_argument, NULL, OPTION_SPOOL },   \
        { "unredacted", no_argument,     NULL, OPTION_UNREDACTED }
/* clang-format on */

void spec_options_done(SpecOptions *options);
/* One option of those above: 0, -ENOMEM, KT_E_INVALID_SPEC with reason. text is borrowed. */
int spec_options_take(SpecOptions *options, int option, const char *text, Reason *reason);
/* All of it as a spec. command: the process held back, 0: none; it is the scope unless another is
 * given. name and lifetime: set when not NULL and, for lifetime, not told otherwise. The spec is
 * not yet complete (spec_complete). Its refusals, and later ones that are given to origins_name(),
 * speak of the words of the command line. */
int spec_options_build(const SpecOptions *options,
                pid_t command,
                const char *name,
                const char *lifetime,
                Spec **ret,
                Reason *reason);
/* "64M", as --spool= takes it. */
bool spec_options_is_size(const char *text);
/* The part of --help, with the limits of the spec's field table. */
void spec_options_print_help(FILE *out);
