/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Worker thread: a step of a plan that makes these probes stand in the kernel, some at a time;
 * *next is 0 at first. What stands already is looked up once a step and not once a probe, and what
 * does not is written together. KT_E_BUSY: another one of that name stands. */
int probe_ensure_all(const Tracefs *tracefs,
                Probe *const *probes,
                size_t n,
                size_t *next,
                Reason *reason);
/* Many, none of them in a program and none that polkit has to be asked about: all or none. Answers
 * with the names of their events, a line each; a reason begins with "probes[N]: ". */
int probe_set_define_all(ProbeSet *set,
                Request *request,
                Definition **definitions /* the list and all in it are consumed on 0 */,
                size_t n);
