/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "kernel/instance.h"
#include "kernel/watch.h"

/* Defines the probes that show who each task is, for all instances. -EOPNOTSUPP: this kernel does
 * not support them. */
int history_probe_define(const Tracefs *tracefs);
/* -EBUSY: an instance uses them. */
int history_probe_remove(const Tracefs *tracefs);
/* Fills in the ids and offsets of the events. */
int history_probe_read_layout(const Tracefs *tracefs, ControlMessage *ret);
/* Turns the events of a history on. The instance must not have recorded anything before. Only what
 * the calling thread reads in /proc is recorded. */
int history_probe_enable(const Instance *instance);
/* Reports later writes to what history_probe_enable() and the caller have set. */
int history_probe_watch(const Instance *instance, Watch **ret);
