/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "export/export.h"
#include "trace/trace.h"

/* What an exporter works with. All of it stays valid until free(). */
typedef struct ExporterInput {
        Trace *trace;               /* its decode, stream (receipt, machine) and buffers */
        const ExportSource *source; /* the options */
        FILE *out;
} ExporterInput;

/* A record, or lost events in its place. */
typedef struct ExporterItem {
        Record record; /* for a loss, only ts and cpu are set */
        int64_t lost;  /* -1: an unknown number; 0: it is a record */
        const TraceBuffer *buffer;
        const EventLayout *layout; /* the record fits it; NULL: an unknown or damaged event */
        int pid;                   /* of the thread that made the record */
} ExporterItem;

/* A format that is made record by record. begin() makes the state that the other functions get; it
 * may be NULL. Items come in time order over all CPUs. All functions except free return 0, -errno,
 * or KT_E_* with reason. end() is called after the last item if nothing failed, free() always. */
typedef struct Exporter {
        int (*begin)(const ExporterInput *input, void **ret, Reason *reason);
        int (*record)(void *state, const ExporterItem *item);
        int (*loss)(void *state, const ExporterItem *item);
        /* missing: what a cut or damaged recording lacks; "": nothing. */
        int (*end)(void *state, const char *missing);
        void (*free)(void *state);
} Exporter;

/* Walks over the records of the trace. Sets n_events and n_lost. */
int exporter_run(const Exporter *exporter,
                const ExporterInput *input,
                ExportSummary *ret,
                Reason *reason);
