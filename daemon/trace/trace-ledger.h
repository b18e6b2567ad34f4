/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

#define LEDGER_CHANGES_MAX 16 /* told one by one; the others are counted */

/* A file of the instance, or a part of what is on there, that somebody else has changed. */
typedef struct LedgerChange {
        char file[WATCH_NAME_MAX];
        char was[64], is[64]; /* as it should read, and did; cut where it is longer */
        bool is_put_back;
} LedgerChange;

/* What a look at an instance has found, and what is known from the looks before it. */
typedef struct TraceLedger {
        LedgerChange changes[LEDGER_CHANGES_MAX];
        size_t n, n_put_back; /* all of them */
        uint64_t from_nsec;   /* CLOCK_MONOTONIC: somebody wrote, as far as it was noticed */
        uint64_t until_nsec;  /* and all was as it should be, as far as it was put back */
        bool was_emptied;     /* somebody wrote to `trace`; the caller's */

        size_t next;       /* cursor; 0 at first */
        uint32_t given_up; /* of files, by their place: told, and not put back */
        bool *is_given_up; /* of the grant's events */
} TraceLedger;

int trace_ledger_init(TraceLedger *ledger, const Trace *trace);
void trace_ledger_clear(TraceLedger *ledger);
/* Plan step of a trace that is not judged: what was laid is compared with what stands, and put back
 * where that harms nobody; a part at a time. The finds are added. KT_E_FAILED: it cannot go on. */
int trace_ledger_look(Trace *trace, TraceLedger *ledger, Reason *reason);
/* Plan step behind it: lines of the daemon's among the records. */
void trace_ledger_mark(const Trace *trace, const TraceLedger *ledger);
/* "events/sched/sched_switch/enable was 1, became 0, put back; and 3 more" */
void trace_ledger_format(const TraceLedger *ledger, Reason *ret);

/* One more find. */
void trace_ledger_add(TraceLedger *ledger,
                const char *file,
                const char *was,
                const char *is,
                bool is_put_back);
/* KT_E_FAILED: this cannot be put back, and the session cannot go on without. */
int trace_ledger_end_session(Reason *reason, const char *file, const char *why);
