/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "export.h"

/* Where a recording goes: its file or standard output, and in which format. */
typedef struct Output Output;

/* path "-": standard output. format_name NULL: by the path's suffix; for standard output text.
 * Leaves a file that has the name until output_publish, or output_finish. KT_E_INVALID_SPEC for a
 * format that does not fit, KT_E_FAILED for a file that cannot be written; both with reason. */
int output_open(const char *path, const char *format_name, Output **ret, Reason *reason);
/* These CPUs alone, "0-3,5". KT_E_INVALID_SPEC: no list, or a format that has all. */
int output_set_cpus(Output *output, const char *list, Reason *reason);
const CpuList *output_get_cpus(const Output *output); /* NULL: all */
/* Empties the file for the next try. An older file keeps its name. */
int output_begin(Output *output, Reason *reason);
/* The stream has begun: a .kts file gets its name now and replaces an older file. Without this call
 * output_finish does it. */
int output_publish(Output *output, Reason *reason);
/* The regular file that takes the .kts stream itself: the output or, for a format that is made of
 * it afterwards, a draft without a name. -1: the stream has to come through a Flow. */
int output_get_sink_fd(const Output *output);
/* For a Flow: where its bytes go, and as what. */
int output_get_fd(const Output *output);
ExportFormat output_get_format(const Output *output);
const char *output_get_name(const Output *output); /* for messages */
bool output_is_terminal(const Output *output);
/* The stream is in the sink: makes the wanted format of it and gives the file its name. When that
 * fails the recording is kept as .kts where possible, and reason says where. *ret is set only for
 * converted formats. */
int output_finish(Output *output, ExportSummary *ret, bool *ret_summarized, Reason *reason);
/* Removes the file that output_publish or output_finish has named. */
void output_discard(Output *output);
/* Bytes in the file, 0 when it is none. */
uint64_t output_get_size(const Output *output);
Output *output_free(Output *output);
DEFINE_CLEANUP(Output, output_free);
