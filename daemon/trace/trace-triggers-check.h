/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-triggers.h"

/* What the kernel or the fence cannot do of them, said before anything is made. Event loop. */
int trace_check_triggers(const Spec *spec, const Grant *grant, Reason *reason);
/* Has this kernel what the trigger needs on its event, or on all events: an instance has the files
 * of the top directory. KT_E_KERNEL_REFUSED: no. */
int trace_check_trigger_known(const Instance *instance,
                const SpecTrigger *wanted,
                const char *system,
                const char *name,
                Reason *reason);
/* Memory that the kernel takes to count for histograms, about: counts as buffers do. Event loop. */
uint64_t trace_count_hists_kb(const Spec *spec, const Grant *grant);
/* Does the session begin with nothing recorded, until a trigger says start? */
bool trace_begins_closed(const Spec *spec);
