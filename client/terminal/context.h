/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/proxy.h"

typedef struct Context Context;
typedef struct Verb Verb;

typedef enum JsonMode {
        JSON_OFF,
        JSON_SHORT,
        JSON_PRETTY,
} JsonMode;

/* What the far side of -H has for its verb. */
typedef struct FarEnd {
        int stream_fd;  /* a pipe that takes the stream, in place of an output; -1: none */
        int discard_fd; /* an eventfd: written when the stream must not be kept; -1: none */
        int gate_fd;    /* a recording waits there for its start, see recording/gate.h; -1: none */
        int series_fd;  /* takes the end of a snapshot, see recording/series.h; -1: there is one
                           stream */
        bool is_terminal; /* the near side prints on a terminal */
        bool draws; /* it shows a screen of its own, and sends orders on standard input: top-run.c
                     */
} FarEnd;

/* The values of the options that all verbs share. */
struct Context {
        const Verb *verb; /* NULL before it is found */
        JsonMode json;
        bool legend;
        bool pager;
        bool is_paged; /* standard output is a pipe to a pager, which prints on a terminal */
        bool quiet;
        bool ask_password;
        bool administrator; /* also sessions of other users, for verbs that manage sessions */
        ProxyDoor door;     /* how ktraced is reached */

        const char *host; /* -H: the machine where the verb runs; NULL: this one */
        /* -M: the container whose processes the verb traces, on that machine; NULL: none */
        const char *container;
        const FarEnd *far; /* NULL: not the far side of -H */
        int n_words;       /* the whole command line, as main got it */
        char **words;
        /* Of main: runs this command line on the host, or a whole command line here. Return the
         * exit status. */
        int (*run_there)(const Context *context);
        int (*run_here)(Context *context, int argc, char **argv);
};

/* Whether standard output is a terminal, for the form of what is printed. */
static inline bool context_is_terminal(const Context *context) {
        return context->far ? context->far->is_terminal : isatty(STDOUT_FILENO);
}

/* Whether -H names several machines: a,b or @FILE. */
static inline bool context_has_many_hosts(const Context *context) {
        return context->host && (*context->host == '@' || strchr(context->host, ','));
}

/* One command. Each verb's file defines its own as `const Verb verb_NAME`; main.c lists them. */
struct Verb {
        const char *name;
        const char *arguments; /* after the name in --help: "[GLOB]" */
        const char *summary;   /* one line */
        const char *help;      /* its own options and notes, whole lines; NULL: none */
        void (*print_more)(FILE *out);
        bool paged;   /* its listing may go through a pager */
        bool manages; /* with --administrator also sessions of other users */
        /* With -H: it writes its output itself, and calls near.h for the rest. */
        bool carries;
        bool traces;       /* it makes a session of processes: with -M of those of a container */
        bool carries_many; /* also with several machines */
        bool is_endless;   /* it prints until ^C: lines of several machines are not sorted */
        uint32_t far_protocol; /* with -H: the oldest far side that runs it, see hello.c; 0: any */
        const char *at_home;   /* why it refuses -H, and what to do instead; NULL: it does not */
        /* argv[0] is the verb's name. Returns the exit status. */
        int (*run)(Context *context, int argc, char **argv);
};
