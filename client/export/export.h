/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "export/export-format.h"
#include "interfaces/cpu-list.h"
#include "interfaces/error.h"

/* Threads that print. More do not help, because one thread reads. */
#define EXPORT_JOBS_MAX 64U

typedef struct ExportSummary {
        uint64_t n_events;
        uint64_t n_lost;
        bool complete;     /* there was an end frame */
        char missing[256]; /* what a cut stream lacks; "": it is complete */
        char end_code[32];
        char end_reason[256];
        /* Text: print formats that were used as tables, those that libtraceevent ran, and the
         * records that it printed. */
        unsigned n_compiled, n_others;
        uint64_t n_slow;
} ExportSummary;

/* Reads a .kts stream or a trace.dat from in_fd (recognised by content) and writes it to out.
 * EXPORT_DAT needs a seekable out. Messages contain in_name. Control characters in strings are
 * escaped. Returns 0 (also for a cut stream: see ret->complete), -errno, or KT_E_* with reason. */
int export_file(int in_fd,
                const char *in_name,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason);

/* The same for a part of the trace. KT_E_INVALID_SPEC: the format cannot be made of a part, or the
 * trace has no such part. Statistics and lost events are those of the whole trace. */
typedef struct Selection Selection; /* trace/selection.h */
typedef struct Trace Trace;         /* trace/trace.h */

typedef struct ExportSource {
        int fd;
        const char *name;
        const Selection *selection;  /* NULL: all */
        unsigned n_jobs;             /* text, json: threads that print; 0: one */
        int (*seal)(Reason *reason); /* see TraceSeal; NULL: none */
        /* Called with the loaded trace before anything is read of it; NULL: nothing. Returns 0,
         * -errno, or KT_E_* with a reason. */
        int (*prepare)(Trace *trace, void *userdata, Reason *reason);
        void *userdata;
        const struct CallStyle *calls; /* calls: how they are printed; NULL: the default */
        bool has_names;                /* text: names of calls, flags, errors and signals */
        bool is_raw;                   /* text: do not escape strings */
        bool by_thread;                /* summary: a row for each thread and call */
        bool is_plain;      /* dat: version 6, not compressed, instead of version 7 with zstd */
        bool is_compatible; /* perfetto: for viewers before v50 */
        bool is_own; /* written by our own consumer just now: need not be checked for damage */
} ExportSource;

int export_source(const ExportSource *source,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason);

/* Whether the format can be made of this part: KT_E_INVALID_SPEC with a reason. */
int export_check_selection(const Selection *selection, ExportFormat format, Reason *reason);

/* Returns only the trace's receipt. KT_E_FAILED: it has none. */
int export_receipt(const ExportSource *source, json_object **ret, Reason *reason);

/* A stream that arrives from a pipe. EXPORT_KTS copies it. EXPORT_TEXT and EXPORT_JSON print in
 * time order over all CPUs with bounded delay. EXPORT_DAT needs a seekable out, which is
 * complete only after finish. */
typedef struct LiveExport LiveExport;
