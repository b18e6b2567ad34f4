/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "trace/export.h"

/* A stream that is moved from the daemon's pipe to an output. */
typedef struct Flow Flow;

typedef struct FlowHandlers {
        /* Called once, at the end. The stream has ended and is written, or it failed: result 0,
         * -errno (-EPIPE: the reader of the output is gone), KT_E_*. */
        void (*on_done)(Flow *flow, int result, const Reason *reason, void *userdata);
} FlowHandlers;

/* consumes source_fd on success. */
int flow_new(sd_event *event,
                int source_fd,
                int out_fd,
                ExportFormat format,
                const FlowHandlers *handlers,
                void *userdata,
                Flow **ret);
Flow *flow_free(Flow *flow);
DEFINE_CLEANUP(Flow, flow_free);
/* Prints only these CPUs (borrowed; NULL: all). Call it before the stream begins. */
void flow_set_cpus(Flow *flow, const CpuList *cpus);
/* Stops reading and printing until flow_continue(). */
void flow_hold(Flow *flow);
void flow_continue(Flow *flow);
/* Reads the rest of the stream from now on, even if the reader does not accept it. The session
 * has stopped, so the rest is bounded. It must not wait in the kernel for a stuck reader. */
void flow_drain(Flow *flow);
/* Ends the stream here. */
void flow_hang_up(Flow *flow);
/* Valid after on_done. */
const ExportSummary *flow_get_summary(const Flow *flow);
