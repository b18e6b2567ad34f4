/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "remote/outlet.h"

/* A longer line is cut into several. */
#define TEXT_LINE_MAX ((size_t)4096)

/* Where the texts of several machines go, line by line. */
typedef struct TextSink {
        Outlet *outlet;
        bool is_clean; /* a terminal: without control characters */
} TextSink;

/* Text of one machine that is not yet printed. */
typedef struct TextQueue {
        char *data;
        size_t start, end; /* of the text in data */
} TextQueue;

bool text_sink_is_full(const TextSink *sink);

/* Returns 0 or -ENOMEM. */
int text_queue_add(TextQueue *queue, const void *data, size_t size);
/* Sends whole lines, each after "NAME: ", until the sink is full. is_final: no more comes, so an
 * unfinished line is sent, too. Returns 0 or -ENOMEM. */
int text_queue_print(TextQueue *queue, const TextSink *sink, const char *name, bool is_final);
size_t text_queue_get_size(const TextQueue *queue);
/* Whether it has a line that text_queue_print() would send. */
bool text_queue_has_line(const TextQueue *queue);
void text_queue_done(TextQueue *queue);
