/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/ktrace.h"
#include "trace/decode.h"

/* TASK_COMM_LEN; "<idle>" and "<...>" are shorter. */
#define RECORD_TASK_SIZE 16

/* A record that has arrived, and that the caller has not taken yet. */
typedef struct QueuedRecord {
        ktrace_record_kind kind;
        uint64_t ts;
        uint32_t cpu, size;
        size_t place; /* of its data */
        int64_t lost;
        char task[RECORD_TASK_SIZE]; /* at the time of the record */
} QueuedRecord;

typedef struct RecordQueue {
        QueuedRecord *records;
        size_t n, n_allocated, next;
        uint8_t *data;
        size_t data_used, data_allocated;
} RecordQueue;

void record_queue_clear(RecordQueue *queue);
bool record_queue_is_empty(const RecordQueue *queue);
/* Copies the record. Returns 0 or -ENOMEM. */
int record_queue_add(RecordQueue *queue, const QueuedRecord *how, const uint8_t *data);
/* Takes the oldest record. What it returned before is not valid any more. NULL: there is none.
 * ret_data: its data. */
const QueuedRecord *record_queue_take(RecordQueue *queue, const uint8_t **ret_data);
