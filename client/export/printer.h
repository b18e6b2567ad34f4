/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "export/call-printer.h"
#include "export/export.h"
#include "trace/decode.h"
#include "trace/stream.h"
#include "trace/text-block.h"

/* All that the line of one record needs. printer_prepare() makes it in the order of records,
 * because a record can name the tasks of later ones. */
typedef struct PrinterLine {
        Record record; /* for lost events, only ts and cpu */
        int64_t lost;  /* not 0: the line reports lost events; -1: an unknown number */
        const char *buffer;
        const char *task;
        const EventLayout *layout; /* NULL: an unknown event */
        const PrintTable *table;   /* NULL: the text is in the printer's `slow` */
        size_t slow_start, slow_size;
        int pid;
        uint32_t inner; /* the pid in the container; 0: unknown */
        bool is_whole;  /* the record is as its format says */
} PrinterLine;

/* Prints records as lines of text or JSON. */
typedef struct Printer {
        ExportFormat format; /* EXPORT_TEXT, EXPORT_JSON or EXPORT_CALLS; EXPORT_KTS only counts */
        FILE *out;
        Decode *decode;   /* borrowed */
        bool is_wall;     /* text: print the time of day; wall_clock_check() has succeeded */
        bool is_escaped;  /* text: escape characters that a terminal interprets */
        bool has_names;   /* text: names of calls, flags, errors and signals */
        const char *lead; /* begins each line: text, or members of the JSON object with a comma
                             after each. Borrowed. NULL: none. Not for EXPORT_CALLS */
        int name_width;   /* width of the longest instance name; 0: only one buffer */
        uint64_t n_events, n_lost;
        const CallStyle *call_style; /* EXPORT_CALLS; borrowed */
        CallPrinter *calls;          /* EXPORT_CALLS, after printer_begin() */
        TextBlock block;             /* lines that wait */
        TextBlock slow;              /* texts by libtraceevent, for prepared lines */
} Printer;

void printer_init(Printer *printer, ExportFormat format, FILE *out, Decode *decode);
void printer_clear(Printer *printer);

/* buffer: the instance's name; "" for the only or top buffer. All functions return 0 or -errno. */
int printer_begin(Printer *printer);
int printer_record(Printer *printer, const Record *record, const char *buffer);
int printer_loss(Printer *printer, const Record *at, int64_t lost, const char *buffer);
/* The next records of this CPU are older than the records printed before. */
int printer_late(Printer *printer, unsigned cpu);
/* The steps of printer_record() and printer_loss(). Only the first two change the Decode. Lines may
 * be added to copies of the printer, in several threads. */
int printer_prepare(Printer *printer, const Record *record, const char *buffer, PrinterLine *ret);
void printer_prepare_loss(Printer *printer,
                const Record *at,
                int64_t lost,
                const char *buffer,
                PrinterLine *ret);
int printer_add(Printer *printer, const PrinterLine *line);
/* Prints statistics, the end and what is missing (may be empty), but only for JSON. */
int printer_end(Printer *printer, const Stream *stream, const char *missing);

/* Adds the lead at its place in a line. */
void printer_add_lead(Printer *printer);
/* Writes the lines that wait. */
int printer_flush(Printer *printer);
