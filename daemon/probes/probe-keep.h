/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Of users, for the daemon that comes after this one, with their files. */
void probe_keep(const Probe *probe);
void probe_unkeep(const Probe *probe);
/* Takes over what the last one has kept; they are resolved when they are needed. Those in programs
 * that cannot be taken over stay until they are forgotten: who asks for them is told why. */
void probe_set_adopt(ProbeSet *set);
void probe_set_forget_lost(ProbeSet *set);
