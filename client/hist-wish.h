/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy.h"
#include "spec-options.h"

#define HIST_WISH_LATENCY   "latency" /* the field of --latency, in us: key and value */
#define HIST_WISH_WORDS_MAX 4         /* one more than the kernel takes, so that it is told */

typedef struct HistWords {
        const char *items[HIST_WISH_WORDS_MAX];
        size_t n;
} HistWords;

/* What `hist` is to count, as the command line says it. */
typedef struct HistWish {
        SpecOptions spec;
        const char *event, *filter;
        const char *latency; /* "FROM..TO"; NULL: the event is counted as it is */
        HistWords keys, values, sort, by;
        const char *size;
        bool adds_total; /* the sum of the times is a value, though no option says so */
        char probe[64];  /* that was defined for it; "": none */
        char *probe_event;
} HistWish;

void hist_wish_done(HistWish *wish);
/* The next of such words. KT_E_INVALID_SPEC: too many. */
int hist_words_add(HistWords *words, const char *option, const char *text, Reason *reason);
/* KT_E_INVALID_SPEC: options that do not go together. Else the wish is complete. */
int hist_wish_check(HistWish *wish, Reason *reason);
/* Defines the pair of events that --latency names. */
int hist_wish_define(HistWish *wish, Proxy *proxy, Reason *reason);
/* Takes it away again. */
int hist_wish_undefine(HistWish *wish, Proxy *proxy, Reason *reason);
/* The whole session. command: as in spec_options_build. */
int hist_wish_build(const HistWish *wish, pid_t command, json_object **ret, Reason *reason);
