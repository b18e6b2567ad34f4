/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A probe made of two events has this field in a session of one's own processes: when the first
 * event was, by the trace's clock. The stream worker shows the record only when one task of the
 * session made both events. */
#define PAIR_START_NSEC "ktrace_from_nsec"
#define PAIR_START_USEC "ktrace_from_usec"
