/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "call/proxy.h"

typedef struct Verb Verb;

typedef enum JsonMode {
        JSON_OFF,
        JSON_SHORT,
        JSON_PRETTY,
} JsonMode;

/* The values of the options that all verbs share. */
typedef struct Context {
        const Verb *verb; /* NULL before it is found */
        JsonMode json;
        bool legend;
        bool pager;
        bool quiet;
        bool ask_password;
        bool administrator; /* also sessions of other users, for verbs that manage sessions */
        ProxyDoor door;     /* how ktraced is reached */
} Context;

/* One command. Each verb's file defines its own as `const Verb verb_NAME`; main.c lists them. */
struct Verb {
        const char *name;
        const char *arguments; /* after the name in --help: "[GLOB]" */
        const char *summary;   /* one line */
        const char *help;      /* its own options and notes, whole lines; NULL: none */
        void (*print_more)(FILE *out);
        bool paged;   /* its listing may go through a pager */
        bool manages; /* with --administrator also sessions of other users */
        /* argv[0] is the verb's name. Returns the exit status. */
        int (*run)(Context *context, int argc, char **argv);
};
