/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probe-set.h"

/* Worker thread: a step of a plan that makes these probes stand in the kernel, some at a time;
 * *next is 0 at first. What stands already is looked up once a step and not once a probe, and what
 * does not is written together. KT_E_BUSY: another one of that name stands. */
int probe_ensure_all(const Tracefs *tracefs,
                Probe *const *probes,
                size_t n,
                size_t *next,
                Reason *reason);
