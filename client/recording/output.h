/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "export/call-style.h"
#include "export/export.h"
#include "terminal/context.h"

/* The destination of a recording: a file or standard output, and its format. */
typedef struct Output Output;

/* path "-" is standard output. If format_name is NULL, the path's suffix selects the format; the
 * default for standard output is text. An older file with this name stays until output_publish or
 * output_finish. Returns KT_E_INVALID_SPEC for a format that does not fit, KT_E_FAILED for a file
 * that cannot be written; both with reason. */
int output_open(const char *path, const char *format_name, Output **ret, Reason *reason);
/* The same, but on the far side of -H the stream goes to the near side, which opens an output with
 * these arguments. */
int output_open_for(const Context *context,
                const char *path,
                const char *format_name,
                Output **ret,
                Reason *reason);
bool output_is_channel(const Output *output);
/* Gives a channel the name of the next file, which is consumed. */
void output_take_path(Output *output, char *path);
/* The recording comes from another machine: what is converted was not checked by this one's
 * consumer. */
void output_set_foreign(Output *output);
/* Keeps only these CPUs, such as "0-3,5". Returns KT_E_INVALID_SPEC when it is not a list or the
 * format always has all CPUs. */
int output_set_cpus(Output *output, const char *list, Reason *reason);
/* How calls are printed. Borrowed. NULL: the default. */
void output_set_calls(Output *output, const CallStyle *style);
const CallStyle *output_get_calls(const Output *output);
/* A trace.dat is not compressed. */
void output_set_plain(Output *output);
bool output_is_plain(const Output *output);
const CpuList *output_get_cpus(const Output *output); /* NULL: all */
/* Empties the file for the next attempt. An older file keeps its name. */
int output_begin(Output *output, Reason *reason);
/* Call it when the stream has begun: it gives a .kts file its name, which replaces an older file.
 * Otherwise output_finish does that. */
int output_publish(Output *output, Reason *reason);
/* Returns the regular file for the .kts stream: the output itself or, for another format, a draft
 * without a name. Returns -1 when the stream must come through a PipeTransfer. */
int output_get_sink_fd(const Output *output);
/* The destination and the format for a PipeTransfer. */
int output_get_fd(const Output *output);
ExportFormat output_get_format(const Output *output);
const char *output_get_name(const Output *output); /* for messages */
bool output_is_terminal(const Output *output);
/* Call it when the stream is in the sink: converts it and gives the file its name. When that fails,
 * the recording is kept as .kts if possible, and the reason says where. Sets *ret only for formats
 * that need a conversion. */
int output_finish(Output *output, ExportSummary *ret, bool *ret_summarized, Reason *reason);
/* Removes the file that output_publish or output_finish named. */
void output_discard(Output *output);
/* The size of the file in bytes; 0 when it is not a file. */
uint64_t output_get_size(const Output *output);
Output *output_free(Output *output);
DEFINE_CLEANUP(Output, output_free);
