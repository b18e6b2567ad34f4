/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "export.h"

/* A stream on its way from the daemon's pipe to an output, as it comes. */
typedef struct Flow Flow;

typedef struct FlowHandlers {
        /* Once and last: the stream is at its end and all is written, or it failed: result 0,
         * -errno (-EPIPE: the reader of the output has gone), KT_E_*. */
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
/* Before it begins: these CPUs alone, borrowed; NULL: all. */
void flow_set_cpus(Flow *flow, const CpuList *cpus);
/* Reads nothing and prints nothing until flow_continue(). */
void flow_hold(Flow *flow);
void flow_continue(Flow *flow);
/* From now on what is left of the stream is read whether or not the reader takes it: it is bounded
 * (the session has stopped), and must not wait in the kernel for a reader that has stopped. */
void flow_drain(Flow *flow);
/* As if the stream had ended here. */
void flow_hang_up(Flow *flow);
/* Valid after on_done. */
const ExportSummary *flow_get_summary(const Flow *flow);
