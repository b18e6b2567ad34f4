/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"
#include "interfaces/hist-layout.h"
#include "interfaces/spec-trigger.h"

#define HIST_ROWS_DEFAULT 2048

/* The fields that a histogram may count by. */
typedef struct HistContext {
        const char *place; /* "triggers[3]", for messages */
        const char *event; /* "sched:sched_switch", for messages */
        const char *rule;  /* for messages */
        const Format *format;
        /* NULL: all fields. Returns false for a field that is cut for this caller, because a row
         * would reveal its value. The CPU is the field common_cpu here. */
        bool (*may_read)(const FormatField *field, void *userdata);
        void *userdata;
        bool lists_keys;      /* may_read() goes by a list of keys: for messages */
        bool keeps_addresses; /* function names may be shown */
        uint64_t most_bytes;  /* without an explicit size: as many rows as fit; 0: no limit */
} HistContext;

/* A histogram for the kernel: the text between "hist:" and " if FILTER". */
typedef struct HistText {
        char *command; /* as written to the kernel */
        char *listed;  /* as the kernel shows it, which may differ */
        HistLayout layout;
        uint64_t n_rows;
} HistText;

void hist_text_clear(HistText *text);
/* Compiles one histogram. Fails with KT_E_INVALID_SPEC or KT_E_ACCESS_DENIED and "PLACE.keys[0]:
 * what is wrong". ret is unchanged on failure. */
int hist_compile(const HistContext *context, const SpecHist *hist, HistText *ret, Reason *reason);
/* Returns the kernel memory of the histogram, which is all allocated at the start. */
uint64_t hist_count_bytes(const HistText *text);
