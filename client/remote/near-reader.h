/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording/output.h"

/* The process that reads a stream of the far side of -H. */
typedef struct NearReader NearReader;

/* What it says at its end. Its texts may be hostile. */
typedef struct NearResult {
        int code; /* 0, -errno (-EPIPE: the reader of the output is gone), KT_E_* */
        Reason reason;
        uint64_t n_events, n_lost;
        bool complete;
        char missing[256];
} NearResult;

/* Starts it. It reads stream_fd up to its end, and writes to the sink of the output or to the
 * output itself. Both stay the caller's. */
int near_reader_new(Output *output, int stream_fd, NearReader **ret);
/* Ends it if it still runs. */
NearReader *near_reader_free(NearReader *reader);
DEFINE_CLEANUP(NearReader, near_reader_free);
pid_t near_reader_get_pid(const NearReader *reader);
/* Call it once, when the process has ended in this way, and is waited for. */
void near_reader_finish(NearReader *reader, bool has_exited, NearResult *ret);
