/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "remote/outlet.h"

#define TEXT_LINE_MAX ((size_t)4096)

/* Where the texts of several machines go, line by line. */
typedef struct TextSink {
        Outlet *outlet;
        bool is_clean; /* a terminal: without control characters */
} TextSink;

/* The unfinished line of one text of one machine. */
typedef struct TextLine {
        char *data;
        size_t n;
} TextLine;

/* Adds text of the machine, and sends each whole line after "NAME: ". A longer line is cut into
 * several. Returns 0 or -ENOMEM. */
int text_line_add(TextLine *line,
                const TextSink *sink,
                const char *name,
                const void *data,
                size_t size);
/* Sends what is left as a line. */
int text_line_end(TextLine *line, const TextSink *sink, const char *name);
void text_line_done(TextLine *line);
