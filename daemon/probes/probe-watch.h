/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* From now on it is noticed when others remove what stands in the kernel. Again: no matter. */
void probe_set_watch(ProbeSet *set);
/* The last one to hold it has let go. */
void probe_watch_look(ProbeSet *set);
ProbeWatch *probe_watch_free(ProbeWatch *watch);
