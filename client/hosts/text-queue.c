/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints what several machines print at the same time: each line begins with its machine, and lines
 * are never mixed. For hosts-record.c and hosts-run.c. Text for a terminal loses its control
 * characters.
 *
 * The text waits here and not in the sink, because the names can make it hundreds of times longer:
 * a sink has at most OUTLET_FULL and one line. The owner limits what waits here. Owns the text. */

#include "hosts/text-queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/message.h"

bool text_sink_is_full(const TextSink *sink) {
        return outlet_get_size(sink->outlet) >= OUTLET_FULL;
}

int text_queue_add(TextQueue *queue, const void *data, size_t size) {
        size_t waiting = text_queue_get_size(queue);
        char *grown;

        if (queue->start > 0)
                memmove(queue->data, queue->data + queue->start, waiting);
        queue->start = 0;
        queue->end = waiting;
        grown = realloc(queue->data, MAX_OF(waiting + size, (size_t)1));
        if (!grown)
                return -ENOMEM;
        memcpy(grown + waiting, data, size);
        queue->data = grown;
        queue->end += size;
        return 0;
}

/* The size of the first line without its end. Returns SIZE_MAX when its end has not come. */
static size_t text_queue_find_line(const TextQueue *queue) {
        size_t waiting = text_queue_get_size(queue);
        const char *line = queue->data + queue->start,
                   *end = waiting > 0 ? memchr(line, '\n', MIN_OF(waiting, TEXT_LINE_MAX)) : NULL;

        if (end)
                return (size_t)(end - line);
        return waiting >= TEXT_LINE_MAX ? TEXT_LINE_MAX : SIZE_MAX;
}

static int text_queue_send(TextQueue *queue, const TextSink *sink, const char *name, size_t size) {
        char *line = queue->data + queue->start;
        bool is_open = false;
        int r;

        if (sink->is_clean)
                message_clean_lines(line, size, &is_open);
        r = outlet_put(sink->outlet, name, strlen(name));
        if (r >= 0)
                r = outlet_put(sink->outlet, ": ", 2);
        if (r >= 0)
                r = outlet_put(sink->outlet, line, size);
        if (r >= 0)
                r = outlet_put(sink->outlet, "\n", 1);
        queue->start += size;
        if (queue->start < queue->end && queue->data[queue->start] == '\n')
                queue->start++;
        return r;
}

int text_queue_print(TextQueue *queue, const TextSink *sink, const char *name, bool is_final) {
        int r = 0;

        while (r >= 0 && queue->start < queue->end && !text_sink_is_full(sink)) {
                size_t size = text_queue_find_line(queue);

                if (size == SIZE_MAX && !is_final)
                        break;
                r = text_queue_send(queue, sink, name, MIN_OF(size, text_queue_get_size(queue)));
        }
        if (queue->start == queue->end)
                text_queue_done(queue);
        return r;
}

size_t text_queue_get_size(const TextQueue *queue) {
        return queue->end - queue->start;
}

bool text_queue_has_line(const TextQueue *queue) {
        return text_queue_find_line(queue) != SIZE_MAX;
}

void text_queue_done(TextQueue *queue) {
        free(queue->data);
        *queue = (TextQueue){};
}
