/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Starts to watch for probes that other programs remove from the kernel. Further calls do
 * nothing. */
void probe_set_watch(ProbeSet *set);
/* To be called when the last holder has released a probe. */
void probe_watch_look(ProbeSet *set);
ProbeWatch *probe_watch_free(ProbeWatch *watch);
