/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "interfaces/cpu-list.h"
#include "interfaces/error.h"

typedef enum ExportFormat {
        EXPORT_KTS,
        EXPORT_DAT,
        EXPORT_TEXT,
        EXPORT_JSON,
        EXPORT_TEXT_WALL, /* times of day in place of the trace's clock */
        EXPORT_DAT_WALL,  /* with what trace-cmd's record --date leaves, so that it shows them */
        _EXPORT_FORMAT_N,
} ExportFormat;

typedef struct ExportSummary {
        uint64_t n_events;
        uint64_t n_lost;
        bool complete;     /* an end frame was there */
        char missing[256]; /* what a cut stream lacks, empty when complete */
        char end_code[32];
        char end_reason[256];
} ExportSummary;

/* .kts .dat .txt .json; -EINVAL otherwise. */
int export_format_from_suffix(const char *path, ExportFormat *ret);
/* kts dat text json text-wall dat-wall; -EINVAL otherwise. */
int export_format_from_string(const char *name, ExportFormat *ret);
const char *export_format_to_string(ExportFormat format);
/* For messages. */
#define EXPORT_FORMAT_NAMES "dat, text, json, kts, text-wall, dat-wall"
bool export_format_is_dat(ExportFormat format);
bool export_format_is_text(ExportFormat format);

/* Reads a .kts stream or a trace.dat (told apart by content) from in_fd and writes it whole to
 * out; EXPORT_DAT needs an out that can seek. in_name stands in messages. Control characters in
 * strings are escaped. Returns 0 (also for a cut stream: see
 * ret->complete), -errno, or KT_E_* with reason. */
int export_file(int in_fd,
                const char *in_name,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason);

/* The same of these CPUs alone; NULL: all. KT_E_INVALID_SPEC for EXPORT_KTS, which has all, and
 * when the trace has none of them. Statistics and losses are those of the whole trace. */
typedef struct ExportSource {
        int fd;
        const char *name;
        const CpuList *cpus;
        bool is_raw; /* text: strings as they were recorded */
} ExportSource;

int export_source(const ExportSource *source,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason);

/* Its receipt alone. KT_E_FAILED: it has none. */
int export_receipt(int in_fd, const char *in_name, json_object **ret, Reason *reason);

/* A stream as it comes from a pipe. EXPORT_KTS copies, EXPORT_TEXT and EXPORT_JSON print in time
 * order over all CPUs with bounded delay; EXPORT_DAT needs an out that can seek and is whole only
 * after finish. */
typedef struct LiveExport LiveExport;
