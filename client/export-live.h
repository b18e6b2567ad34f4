/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export.h"

int live_export_new(ExportFormat format, FILE *out, LiveExport **ret);
/* Before the first byte: these CPUs alone, borrowed. Not for EXPORT_KTS. */
void live_export_set_cpus(LiveExport *live, const CpuList *cpus);
/* Returns 0, -errno (-EPIPE: the reader of out has gone), or KT_E_* with reason. */
int live_export_feed(LiveExport *live, const uint8_t *data, size_t size, Reason *reason);
/* To be called when nothing came for about 100 ms: prints what may be printed. */
int live_export_flush(LiveExport *live);
/* Prints the rest. Call it also after a stream that was cut. */
int live_export_finish(LiveExport *live, ExportSummary *ret, Reason *reason);
/* Counted so far, for a live line. */
void live_export_count(const LiveExport *live, uint64_t *ret_events, uint64_t *ret_lost);
LiveExport *live_export_free(LiveExport *live);
DEFINE_CLEANUP(LiveExport, live_export_free);
