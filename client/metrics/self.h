/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/set-run.h"

/* Adds the service's own numbers to a snapshot. */
int self_fill(MetricSnapshot *snapshot, SetRun *const *runs, size_t n);
