/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-ledger.h"

/* What the files of a look at an instance have of each other; for nobody else. */

/* trace-ledger.c */
/* One more find. */
void trace_ledger_add(TraceLedger *ledger,
                const char *file,
                const char *was,
                const char *is,
                bool is_put_back);
/* KT_E_FAILED: this cannot be put back, and the session cannot go on without. */
int trace_ledger_end_session(Reason *reason, const char *file, const char *why);

/* trace-ledger-files.c */
int trace_ledger_look_at_files(Trace *trace, TraceLedger *ledger, Reason *reason);
