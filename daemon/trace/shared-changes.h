/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-ledger.h"

/* What the ledger of one viewer has changed in a shared instance, for the others. */
typedef struct SharedChanges SharedChanges;

int shared_changes_new(SharedChanges **ret);
SharedChanges *shared_changes_free(SharedChanges *changes);
/* The viewers that enter later do not get what was added before. */
void shared_changes_enter(Trace *trace);
void shared_changes_add(SharedChanges *changes, uint32_t viewer, const LedgerChange *change);
/* Adds to the ledger what the other viewers have added since the last call. */
void shared_changes_take(Trace *trace, TraceLedger *ledger);
