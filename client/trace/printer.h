/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "trace/decode.h"
#include "trace/export.h"
#include "trace/stream.h"
#include "trace/text-block.h"

/* Prints records as lines of text or JSON. */
typedef struct Printer {
        ExportFormat format; /* EXPORT_TEXT or EXPORT_JSON; EXPORT_KTS only counts */
        FILE *out;
        Decode *decode;  /* borrowed */
        bool is_wall;    /* text: print the time of day; wall_clock_check() has succeeded */
        bool is_escaped; /* text: escape characters that a terminal interprets */
        int name_width;  /* width of the longest instance name; 0: only one buffer */
        uint64_t n_events, n_lost;
        TextBlock block;
} Printer;

void printer_init(Printer *printer, ExportFormat format, FILE *out, Decode *decode);
void printer_clear(Printer *printer);

/* buffer: the instance's name; "" for the only or top buffer. All functions return 0 or -errno. */
int printer_begin(Printer *printer);
int printer_record(Printer *printer, const Record *record, const char *buffer);
int printer_loss(Printer *printer, const Record *at, int64_t lost, const char *buffer);
/* The next records of this CPU are older than the records printed before. */
int printer_late(Printer *printer, unsigned cpu);
/* Prints statistics, the end and what is missing (may be empty), but only for JSON. */
int printer_end(Printer *printer, const Stream *stream, const char *missing);

/* Writes the lines that wait. */
int printer_flush(Printer *printer);
