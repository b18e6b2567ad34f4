/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"

/* A record of a batch. */
typedef struct BatchRecord {
        const uint8_t *word; /* its begin */
        uint64_t nsec;
        uint32_t whole;   /* bytes from its begin to its end */
        uint32_t n_alike; /* of the first of a group: records of one event, each of which begins
                             where the one before it ends. 0: it is not the first */
        uint16_t id;
        uint8_t head; /* bytes before its body */
} BatchRecord;

/* The records from begin on that come before end. */
typedef struct BatchPart {
        const BatchRecord *begin, *end;
} BatchPart;

/* Sub-buffers of one CPU, as they were read. */
typedef struct Batch {
        size_t subbuf_size;
        uint8_t *bytes;   /* room for SHARE_ENTRY_MAX */
        uint8_t *scratch; /* room for one sub-buffer, which no viewer sees */
        BatchRecord *records;
        uint8_t *verdicts; /* room for one byte for each record */
        /* Of the last batch_index(): */
        unsigned cpu;
        size_t size; /* the last sub-buffer may end after its records */
        size_t n_records;
        uint64_t n_unparsed; /* sub-buffers that end where they could not be parsed */
} Batch;

/* Fails with -ENOMEM. */
int batch_init(Batch *batch, size_t subbuf_size);
void batch_clear(Batch *batch);
/* Finds the records of what was read into batch->bytes. */
void batch_index(Batch *batch, unsigned cpu, size_t size);
/* Returns the first record of that time or later, or the end of the records. */
const BatchRecord *batch_find_time(const Batch *batch, uint64_t nsec);

static inline BatchPart batch_get_all(const Batch *batch) {
        return (BatchPart){ batch->records, batch->records + batch->n_records };
}

static inline const uint8_t *batch_record_get_body(const BatchRecord *record) {
        return record->word + record->head;
}

static inline size_t batch_record_get_size(const BatchRecord *record) {
        return record->whole - record->head;
}

static inline const uint8_t *batch_record_get_end(const BatchRecord *record) {
        return record->word + record->whole;
}
