/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/call-style.h"
#include "export/export.h"
#include "trace/decode.h"

int live_export_new(ExportFormat format, FILE *out, LiveExport **ret);
/* Prints only these CPUs. Call it before the first byte. Borrowed. Not for EXPORT_KTS. */
void live_export_set_cpus(LiveExport *live, const CpuList *cpus);
/* EXPORT_CALLS: how calls are printed. Call it before the first byte. Borrowed. */
void live_export_set_calls(LiveExport *live, const CallStyle *style);
/* Text: prints names of calls, flags, errors and signals. Call it before the first byte. */
void live_export_set_names(LiveExport *live, bool has_names);
/* Returns 0, -errno (-EPIPE: the reader of out has gone), or KT_E_* with reason. */
int live_export_feed(LiveExport *live, const uint8_t *data, size_t size, Reason *reason);
/* Prints the records that may be printed. Call it when no data has arrived for about 100 ms. */
int live_export_flush(LiveExport *live);
/* Prints the rest. Call it also after a stream that was cut. */
int live_export_finish(LiveExport *live, ExportSummary *ret, Reason *reason);
/* Counts so far, for a status line. */
void live_export_count(const LiveExport *live, uint64_t *ret_events, uint64_t *ret_lost);
LiveExport *live_export_free(LiveExport *live);
DEFINE_CLEANUP(LiveExport, live_export_free);
