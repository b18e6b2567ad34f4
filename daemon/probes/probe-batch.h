/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Worker thread: a step of a plan that defines these probes in the kernel, several in each call.
 * *next is 0 at first. Each step reads the kernel's list once, not once for each probe, and writes
 * the missing probes together. KT_E_BUSY: another probe of that name exists. */
int probe_ensure_all(const Tracefs *tracefs,
                Probe *const *probes,
                size_t n,
                size_t *next,
                Reason *reason);
/* Defines all of the definitions or none of them. None may be in a program or require a question to
 * polkit. The answer contains the names of their events, one on each line. A reason begins with
 * "probes[N]: ". */
int probe_set_define_all(ProbeSet *set,
                Request *request,
                Definition **definitions /* consumes the list and its members on 0 */,
                size_t n);
