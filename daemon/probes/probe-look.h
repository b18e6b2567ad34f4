/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Inspects the files of catalogue probes that were not inspected yet. */
void probe_set_look(ProbeSet *set);
/* The probe is being freed: the result of its inspection is dropped. */
void probe_look_forget(ProbeSet *set, const Probe *probe);
