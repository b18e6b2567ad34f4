/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Looks into the files of the catalogue's that nobody has looked into yet. */
void probe_set_look(ProbeSet *set);
/* It goes: who looks for it tells nobody. */
void probe_look_forget(ProbeSet *set, const Probe *probe);
