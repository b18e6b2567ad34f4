/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "export/call-style.h"
#include "export/export.h"

/* A stream that is moved from the daemon's pipe to an output. */
typedef struct PipeTransfer PipeTransfer;

typedef struct PipeTransferHandlers {
        /* Called once, at the end. The stream has ended and is written, or it failed: result 0,
         * -errno (-EPIPE: the reader of the output is gone), KT_E_*. */
        void (*on_done)(PipeTransfer *transfer, int result, const Reason *reason, void *userdata);
} PipeTransferHandlers;

/* consumes source_fd on success. */
int pipe_transfer_new(sd_event *event,
                int source_fd,
                int out_fd,
                ExportFormat format,
                const PipeTransferHandlers *handlers,
                void *userdata,
                PipeTransfer **ret);
PipeTransfer *pipe_transfer_free(PipeTransfer *transfer);
DEFINE_CLEANUP(PipeTransfer, pipe_transfer_free);
/* Prints only these CPUs (borrowed; NULL: all). Call it before the stream begins. */
void pipe_transfer_set_cpus(PipeTransfer *transfer, const CpuList *cpus);
/* EXPORT_CALLS: how calls are printed (borrowed). Call it before the stream begins. */
void pipe_transfer_set_calls(PipeTransfer *transfer, const CallStyle *style);
/* No other process uses the output, so large parts are written to it. */
int pipe_transfer_set_own(PipeTransfer *transfer);
/* Stops reading and printing until pipe_transfer_continue(). */
void pipe_transfer_hold(PipeTransfer *transfer);
void pipe_transfer_continue(PipeTransfer *transfer);
/* Reads the rest of the stream from now on, even if the reader does not accept it. The session
 * has stopped, so the rest is bounded. It must not wait in the kernel for a stuck reader. */
void pipe_transfer_drain(PipeTransfer *transfer);
/* Ends the stream here. */
void pipe_transfer_hang_up(PipeTransfer *transfer);
/* Valid after on_done. */
const ExportSummary *pipe_transfer_get_summary(const PipeTransfer *transfer);
