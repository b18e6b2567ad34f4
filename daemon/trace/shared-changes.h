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
/* Returns the next change that another viewer has added, or NULL. n_lost: grows by the number of
 * those that are not known any more. */
const LedgerChange *shared_changes_next(Trace *trace, uint64_t *n_lost);
