/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Field of a probe that consists of two events, in a session of the user's own processes: the
 * time of the first event, by the trace's clock. The stream worker shows the record only if one
 * task of the session made both events. */
#define PAIR_START_NSEC "ktrace_from_nsec"
#define PAIR_START_USEC "ktrace_from_usec"
