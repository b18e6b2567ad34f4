/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A batch: what the reader of a shared instance has read at once, and the list of its records.
 * mux.c fills it, and all classes of viewers select from the list (extract.c). So a batch is walked
 * only once. A walk costs more than most filters, because the place of a record is known only after
 * the record before it. The walk trusts no byte: see page.c. */

#include "consumer/mux/batch.h"

#include <errno.h>
#include <stdlib.h>

#include "consumer/records/page-walk.h"
#include "interfaces/share.h"

/* A record has at least its word and four bytes. Memory that is never written costs nothing. The
 * room has one more, which ends the last group. */
#define RECORDS_MAX (SHARE_ENTRY_MAX / 8)

int batch_init(Batch *batch, size_t subbuf_size) {
        *batch = (Batch){
                .subbuf_size = subbuf_size,
                .bytes = malloc(SHARE_ENTRY_MAX),
                .scratch = malloc(subbuf_size),
                .records = malloc((RECORDS_MAX + 1) * sizeof(BatchRecord)),
                .verdicts = malloc(RECORDS_MAX),
        };
        return batch->bytes && batch->scratch && batch->records && batch->verdicts ? 0 : -ENOMEM;
}

void batch_clear(Batch *batch) {
        free(batch->bytes);
        free(batch->scratch);
        free(batch->records);
        free(batch->verdicts);
        *batch = (Batch){};
}

static void batch_add_page(Batch *batch, const uint8_t *page, size_t size) {
        Walk walk = page_walk_begin(page, size, false);
        BatchRecord *next = batch->records + batch->n_records, *first = next;
        const uint8_t *end = page; /* no record begins there */
        uint16_t id = 0;
        Record record;

        for (; walk_next(&walk, &record); next++) {
                if (record.word != end || page_get_id(&record) != id) {
                        first->n_alike = (uint32_t)(next - first);
                        first = next;
                        id = page_get_id(&record);
                }
                end = record.word + record.whole;
                *next = (BatchRecord){
                        .word = record.word,
                        .nsec = walk.nsec,
                        .whole = (uint32_t)record.whole,
                        .id = id,
                        .head = (uint8_t)(record.body - record.word),
                };
        }
        first->n_alike = (uint32_t)(next - first);
        batch->n_records = (size_t)(next - batch->records);
        batch->n_unparsed += walk.at < walk.end;
}

void batch_index(Batch *batch, unsigned cpu, size_t size) {
        batch->cpu = cpu;
        batch->size = size;
        batch->n_records = 0;
        batch->n_unparsed = 0;
        for (size_t at = 0; at < size; at += batch->subbuf_size)
                batch_add_page(batch, batch->bytes + at, MIN_OF(batch->subbuf_size, size - at));
}

const BatchRecord *batch_find_time(const Batch *batch, uint64_t nsec) {
        BatchPart all = batch_get_all(batch);
        const BatchRecord *record = all.begin;

        while (record < all.end && record->nsec < nsec)
                record++;
        return record;
}
