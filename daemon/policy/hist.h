/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"
#include "interfaces/hist-layout.h"
#include "interfaces/spec-trigger.h"

#define HIST_ROWS_DEFAULT 2048

/* What a histogram may count by. */
typedef struct HistContext {
        const char *place; /* "triggers[3]", for messages */
        const char *event; /* "sched:sched_switch", for messages */
        const char *rule;  /* for messages */
        const Format *format;
        /* NULL: all. False for a field that is cut for this caller: a row would tell its value. */
        bool (*may_read)(const FormatField *field, void *userdata);
        void *userdata;
        bool keeps_addresses; /* names of functions may be told */
        uint64_t most_bytes;  /* where no size is given: so many rows as this holds; 0: any */
} HistContext;

/* A histogram for the kernel: what stands between "hist:" and " if FILTER". */
typedef struct HistText {
        char *command; /* as it is written */
        char *listed;  /* as the kernel gives it back, which is not always the same */
        HistLayout layout;
        uint64_t n_rows;
} HistText;

void hist_text_clear(HistText *text);
/* Types one histogram. KT_E_INVALID_SPEC or KT_E_ACCESS_DENIED with "PLACE.keys[0]: what is wrong".
 * ret stays on failure. */
int hist_compile(const HistContext *context, const SpecHist *hist, HistText *ret, Reason *reason);
/* What the kernel keeps for it, all of it from the beginning on. */
uint64_t hist_count_bytes(const HistText *text);
