/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Stores a user's probe, with its file, for the next daemon. */
void probe_keep(const Probe *probe);
void probe_unkeep(const Probe *probe);
/* Takes over the probes that the last daemon has stored. Each is resolved when it is needed. A
 * probe in a program that cannot be taken over stays in the set until probe_set_forget_lost. A
 * caller who asks for it gets the reason. */
void probe_set_adopt(ProbeSet *set);
void probe_set_forget_lost(ProbeSet *set);
