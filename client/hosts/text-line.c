/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints what several machines print at the same time: each line begins with its machine, and lines
 * are never mixed. For hosts-record.c and hosts-run.c. Text for a terminal loses its control
 * characters. The memory of a line is limited. Owns the unfinished line. */

#include "hosts/text-line.h"

#include <errno.h>
#include <string.h>

#include "terminal/message.h"

static int text_line_send(TextLine *line, const TextSink *sink, const char *name) {
        bool is_open = false;
        int r;

        if (sink->is_clean)
                message_clean_lines(line->data, line->n, &is_open);
        r = outlet_put(sink->outlet, name, strlen(name));
        if (r >= 0)
                r = outlet_put(sink->outlet, ": ", 2);
        if (r >= 0)
                r = outlet_put(sink->outlet, line->data, line->n);
        if (r >= 0)
                r = outlet_put(sink->outlet, "\n", 1);
        line->n = 0;
        return r;
}

int text_line_add(TextLine *line,
                const TextSink *sink,
                const char *name,
                const void *data,
                size_t size) {
        const char *text = data;
        int r = 0;

        if (!line->data)
                line->data = malloc(TEXT_LINE_MAX);
        if (!line->data)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < size; i++) {
                if (text[i] != '\n')
                        line->data[line->n++] = text[i];
                if (text[i] == '\n' || line->n == TEXT_LINE_MAX)
                        r = text_line_send(line, sink, name);
        }
        return r;
}

int text_line_end(TextLine *line, const TextSink *sink, const char *name) {
        return line->n > 0 ? text_line_send(line, sink, name) : 0;
}

void text_line_done(TextLine *line) {
        free(line->data);
        *line = (TextLine){};
}
