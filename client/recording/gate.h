/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording/watch.h"

/* Where a recording waits until all machines of its group are ready: a socket to the far side of
 * -H. Each message is one packet of the socket. */
#define GATE_ARMED "armed" /* from the recording; the answer is the time: GateTime */

/* CLOCK_MONOTONIC in nanoseconds. The recording also sends one when it has started. */
typedef uint64_t GateTime;

/* Says that the recording is ready, waits for the time of its start, and until then. Returns 0,
 * -errno, or KT_E_CANCELLED with a reason: a signal came, or the session is gone. */
int gate_await(int fd, Watch *watch, Reason *reason);
/* Says that events are recorded from now on. */
void gate_report_start(int fd);
