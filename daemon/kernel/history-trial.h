/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "interfaces/control.h"
#include "kernel/tracefs.h"

typedef struct HistoryHits {
        uint64_t n[_HISTORY_PROBE_N];
} HistoryHits;

/* Starts a child that does what the probes record, and counts their hits. Fails with -EOPNOTSUPP if
 * this kernel has compiled a probed function into its callers, and with -ENODEV if no probe runs.
 */
int history_trial_run(const Tracefs *tracefs);
/* Adds up the hits in the text of kprobe_profile. */
void history_trial_count(char *text, HistoryHits *ret);
/* Fails as history_trial_run() does. */
int history_trial_judge(const HistoryHits *before, const HistoryHits *after);
