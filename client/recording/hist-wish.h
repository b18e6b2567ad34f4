/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "spec/spec-options.h"

#define HIST_WISH_LATENCY   "latency" /* the field of --latency, in us: key and value */
#define HIST_WISH_WORDS_MAX 4         /* one above the kernel's limit, which is checked later */

typedef struct HistWords {
        const char *items[HIST_WISH_WORDS_MAX];
        size_t n;
} HistWords;

/* What `hist` counts, from the command line. */
typedef struct HistWish {
        SpecOptions spec;
        const char *event, *filter;
        const char *latency; /* "FROM..TO"; NULL: the event itself is counted */
        HistWords keys, values, sort, by;
        const char *size;
        bool adds_total; /* the sum of the times is added as a value without an option */
        char probe[64];  /* the name of its probe; "": none */
        char *probe_event;
} HistWish;

void hist_wish_done(HistWish *wish);
/* Adds a word to the list. Returns KT_E_INVALID_SPEC when there are too many. */
int hist_words_add(HistWords *words, const char *option, const char *text, Reason *reason);
/* Completes the wish. Returns KT_E_INVALID_SPEC when options cannot be combined. */
int hist_wish_check(HistWish *wish, Reason *reason);
/* Defines the probe for --latency. */
int hist_wish_define(HistWish *wish, Proxy *proxy, Reason *reason);
/* Replaces the name of its event in a reason, because the user did not choose it. */
void hist_wish_hide_probe(const HistWish *wish, Reason *reason);
/* Removes that probe. */
int hist_wish_undefine(HistWish *wish, Proxy *proxy, Reason *reason);
/* Makes the complete spec. command: as in spec_options_build. */
int hist_wish_build(const HistWish *wish, pid_t command, json_object **ret, Reason *reason);
