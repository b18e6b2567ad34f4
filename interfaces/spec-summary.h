/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* Appends the rest after the names of the spec's events: "…, probe reads, trigger on
 * sched:sched_switch and 2 more". */
void spec_summarize_rest(const Spec *spec, Reason *events);
