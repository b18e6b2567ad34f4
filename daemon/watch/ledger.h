/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-ledger.h"
#include "watch/activity.h"
#include "work/worker.h"

/* Changes by other programs to the instance of a session that needs no fence. */
typedef struct Ledger Ledger;

/* Called in the event loop. */
typedef struct LedgerHandlers {
        void (*on_changes)(const TraceLedger *found, void *userdata);
        /* Called at most once: the session cannot continue. */
        void (*on_over)(const char *text, void *userdata);
} LedgerHandlers;

/* The trace was started. If it has no watch, the ledger looks only at long intervals. */
int ledger_new(Activity *activity,
                Worker *worker,
                Trace *trace,
                const LedgerHandlers *handlers,
                void *userdata,
                Ledger **ret);
/* No handler is called after this. The trace may be freed when the plan that is submitted next is
 * over. NULL is allowed, here and below. */
Ledger *ledger_free(Ledger *ledger);
DEFINE_CLEANUP(Ledger, ledger_free);
/* Our plans that write to the instance (own-writes.h) begin and end. A second begin has no effect.
 */
void ledger_begin(Ledger *ledger);
void ledger_end(Ledger *ledger);
