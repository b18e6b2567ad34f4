/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The records of a stream between their arrival and the caller. A block of the stream may contain
 * many, and they are valid only while it is read, so they are copied. The memory is used again when
 * all records of a block were taken. Called by reader.c. */

#include "library/record-queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void record_queue_clear(RecordQueue *queue) {
        free(queue->records);
        free(queue->data);
        *queue = (RecordQueue){};
}

bool record_queue_is_empty(const RecordQueue *queue) {
        return queue->next == queue->n;
}

static int record_queue_reserve(RecordQueue *queue, size_t size) {
        if (queue->n == queue->n_allocated) {
                size_t n = queue->n_allocated * 2 + 64;
                QueuedRecord *records = reallocarray(queue->records, n, sizeof(*records));

                if (!records)
                        return -ENOMEM;
                queue->records = records;
                queue->n_allocated = n;
        }
        if (size > queue->data_allocated - queue->data_used) {
                size_t n = queue->data_allocated * 2 + size + 4096;
                uint8_t *data = realloc(queue->data, n);

                if (!data)
                        return -ENOMEM;
                queue->data = data;
                queue->data_allocated = n;
        }
        return 0;
}

int record_queue_add(RecordQueue *queue, const QueuedRecord *how, const uint8_t *data) {
        size_t size = (how->size + (size_t)7) & ~(size_t)7;

        if (record_queue_is_empty(queue))
                queue->n = queue->next = queue->data_used = 0;
        int r = record_queue_reserve(queue, size);
        if (r < 0)
                return r;
        queue->records[queue->n] = *how;
        queue->records[queue->n++].place = queue->data_used;
        if (how->size > 0)
                memcpy(queue->data + queue->data_used, data, how->size);
        queue->data_used += size;
        return 0;
}

const QueuedRecord *record_queue_take(RecordQueue *queue, const uint8_t **ret_data) {
        if (record_queue_is_empty(queue))
                return NULL;
        const QueuedRecord *record = &queue->records[queue->next++];
        *ret_data = queue->data + record->place;
        return record;
}
