/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-triggers.h"

/* Rejects triggers that the kernel or the fence does not support, before anything is created. Event
 * loop. */
int trace_check_triggers(const Spec *spec, const Grant *grant, Reason *reason);
/* Checks that this kernel supports the trigger on its event, or on all events: an instance has the
 * files of the top directory. KT_E_KERNEL_REFUSED: it does not. */
int trace_check_trigger_known(const Instance *instance,
                const SpecTrigger *wanted,
                const char *system,
                const char *name,
                Reason *reason);
/* Returns the approximate kernel memory for histograms. It counts like buffer memory. Event loop.
 */
uint64_t trace_count_hists_kb(const Spec *spec, const Grant *grant);
/* True if the session records nothing until a trigger starts it. */
bool trace_begins_closed(const Spec *spec);
