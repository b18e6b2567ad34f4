/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-ledger.h"
#include "work/worker.h"

/* What others do to the instance of a session that needs no fence. */
typedef struct Ledger Ledger;

/* In the event loop. */
typedef struct LedgerHandlers {
        void (*on_changes)(const TraceLedger *found, void *userdata);
        /* At most once: it cannot go on. */
        void (*on_over)(const char *text, void *userdata);
} LedgerHandlers;

/* The trace has been started: its watch is there, or it looks rarely. */
int ledger_new(sd_event *event,
                Worker *worker,
                Trace *trace,
                const LedgerHandlers *handlers,
                void *userdata,
                Ledger **ret);
/* Tells nothing any more. The trace may go when whatever plan is submitted next is over. NULL is
 * fine, here and below. */
Ledger *ledger_free(Ledger *ledger);
DEFINE_CLEANUP(Ledger, ledger_free);
/* Plans of ours that write to the instance (own-writes.h). Begun twice is begun once. */
void ledger_begin(Ledger *ledger);
void ledger_end(Ledger *ledger);
