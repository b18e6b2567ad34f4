/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-ledger.h"

/* trace-ledger-files.c */
int trace_ledger_look_at_files(Trace *trace, TraceLedger *ledger, Reason *reason);
