/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "spec/spec-options.h"

#define HIST_SPEC_LATENCY   "latency" /* the field of --latency, in us: key and value */
#define HIST_SPEC_WORDS_MAX 4         /* one above the kernel's limit, which is checked later */

typedef struct HistWords {
        const char *items[HIST_SPEC_WORDS_MAX];
        size_t n;
} HistWords;

/* What `hist` counts, from the command line. */
typedef struct HistSpec {
        SpecOptions spec;
        const char *event, *filter;
        const char *latency; /* "FROM..TO"; NULL: the event itself is counted */
        HistWords keys, values, sort, by;
        const char *size;
        bool adds_total; /* the sum of the times is added as a value without an option */
        char probe[64];  /* the name of its probe; "": none */
        char *probe_event;
} HistSpec;

void hist_spec_done(HistSpec *hist);
/* Adds a word to the list. Returns KT_E_INVALID_SPEC when there are too many. */
int hist_words_add(HistWords *words, const char *option, const char *text, Reason *reason);
/* Completes the spec. Returns KT_E_INVALID_SPEC when options cannot be combined. */
int hist_spec_check(HistSpec *hist, Reason *reason);
/* Defines the probe for --latency. */
int hist_spec_define(HistSpec *hist, Proxy *proxy, Reason *reason);
/* Replaces the name of its event in a reason, because the user did not choose it. */
void hist_spec_hide_probe(const HistSpec *hist, Reason *reason);
/* Removes that probe. */
int hist_spec_undefine(HistSpec *hist, Proxy *proxy, Reason *reason);
/* Makes the complete spec. command: as in spec_options_build. */
int hist_spec_build(const HistSpec *hist, pid_t command, json_object **ret, Reason *reason);
