/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

#define LEDGER_CHANGES_MAX 16 /* reported individually; further changes are only counted */

/* A file of the instance, or an event in it, that another program has changed. */
typedef struct LedgerChange {
        char file[WATCH_NAME_MAX];
        char was[64], is[64]; /* the expected and the actual text; may be cut */
        bool is_put_back;
} LedgerChange;

/* The changes that a look at an instance has found, and the state from previous looks. */
typedef struct TraceLedger {
        LedgerChange changes[LEDGER_CHANGES_MAX];
        size_t n, n_put_back; /* all changes */
        uint64_t from_nsec;   /* CLOCK_MONOTONIC: first noticed write */
        uint64_t until_nsec;  /* end of the repair */
        bool was_emptied;     /* another program wrote to `trace`; set by the caller */

        struct SharedChanges *shared; /* of the instance; NULL: the trace has its own */
        uint32_t viewer;              /* its number there */
        size_t next;                  /* cursor; 0 at first */
        uint32_t given_up;            /* files by index: reported, not put back */
        bool *is_given_up;            /* the same, per event of the grant */
} TraceLedger;

int trace_ledger_init(TraceLedger *ledger, const Trace *trace);
void trace_ledger_clear(TraceLedger *ledger);
/* Plan step of a trace that is not judged: compares the instance with the values that were set and
 * puts back what does no harm, a part at a time. Adds the changes that it finds. KT_E_FAILED: the
 * session cannot continue. */
int trace_ledger_look(Trace *trace, TraceLedger *ledger, Reason *reason);
/* The following plan step: writes lines of the daemon into the stream. */
void trace_ledger_mark(const Trace *trace, const TraceLedger *ledger);
/* "events/sched/sched_switch/enable was 1, became 0, put back; and 3 more" */
void trace_ledger_format(const TraceLedger *ledger, Reason *ret);

/* Adds one change. If it was put back, the other viewers of the instance get it too. */
void trace_ledger_add(TraceLedger *ledger,
                const char *file,
                const char *was,
                const char *is,
                bool is_put_back);
/* Sets the reason for a change that cannot be put back and ends the session. Returns KT_E_FAILED.
 */
int trace_ledger_end_session(Reason *reason, const char *file, const char *why);
