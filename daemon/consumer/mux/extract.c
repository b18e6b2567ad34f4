/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes the records of one class of viewers out of a batch of a shared instance. A run of records
 * that all belong to the class is copied at once; when all records of a sub-buffer do, that is one
 * memcpy(). Records that must be cleaned are copied into a sub-buffer that no viewer sees, and from
 * there into the result. Padding ends a run: it may hold a record that the kernel has discarded.
 * Times stay exact: the first record of a run gets a delta to the last copied record, or a time
 * extension before it if the delta has more than 27 bits.
 *
 * The result never needs more sub-buffers than the source. A run that does not fit begins a new
 * one, and all runs of one source sub-buffer fit into one. A time extension has 8 bytes, and the
 * dropped record before it had at least 12.
 *
 * The daemon writes a mark of a session as ftrace:print, with the number of its viewer before the
 * text (share.h). Only that viewer gets the record, without the number.
 *
 * A viewer that moves between two instances gets a part of a batch from each of them. A mark is
 * written to one of them only, so a viewer's marks are also taken from outside of the part. */

#include "consumer/mux/extract.h"

#include <errno.h>
#include <string.h>

#include "consumer/records/page-walk.h"
#include "interfaces/defence.h"
#include "interfaces/share.h"

#define EXTEND_SIZE 8
#define EXTEND_END  (UINT64_C(1) << 59) /* a time extension has 59 bits for a delta */
#define MARK_TEXT   16                  /* offset of the text of ftrace:print */

/* Records that are copied together: each one begins where the one before it ends. */
typedef struct Run {
        const BatchRecord *first, *end; /* equal: it has no record */
} Run;

static uint8_t *extract_get_page(const Extract *extract) {
        return extract->scratch ?: extract->out + extract->page;
}

/* Writes the header of the sub-buffer that was filled. Only here its bytes reach the viewers, if
 * they had to be cleaned. */
static void extract_close_page(Extract *extract) {
        uint8_t *page = extract_get_page(extract);
        uint64_t commit = extract->used;

        memcpy(page + 8, &commit, sizeof(commit));
        if (extract->scratch)
                memcpy(extract->out + extract->page, page, PAGE_HEADER_SIZE + extract->used);
}

static void extract_next_page(Extract *extract) {
        size_t used = PAGE_HEADER_SIZE + extract->used, size = extract->batch->subbuf_size;

        extract_close_page(extract);
        memset(extract->out + extract->page + used, 0, size - used);
        extract->page += size;
        extract->used = 0;
}

static void put_extend(Extract *extract, uint64_t delta) {
        uint8_t *at = extract_get_page(extract) + PAGE_HEADER_SIZE + extract->used;
        uint64_t low = delta & ((UINT64_C(1) << DELTA_BITS) - 1);

        page_put_u32(at, (uint32_t)low << 5 | TYPE_EXTEND);
        page_put_u32(at + 4, (uint32_t)(delta >> DELTA_BITS));
        extract->used += EXTEND_SIZE;
}

/* Makes room for `size` bytes of records that begin at `nsec`. Returns the delta of the first
 * one. */
static uint32_t extract_make_room(Extract *extract, size_t size, uint64_t nsec) {
        size_t room = extract->batch->subbuf_size - PAGE_HEADER_SIZE;

        /* Times go back, or far ahead, only where a program has changed the clock. */
        if (extract->used > 0 && (nsec - extract->last_nsec >= EXTEND_END ||
                                                 extract->used + EXTEND_SIZE + size > room))
                extract_next_page(extract);
        if (extract->used == 0) {
                if (extract->page < extract->out_size)
                        memcpy(extract_get_page(extract), &nsec, sizeof(nsec));
                return 0;
        }
        uint64_t delta = nsec - extract->last_nsec;
        if (delta < UINT64_C(1) << DELTA_BITS)
                return (uint32_t)delta;
        put_extend(extract, delta);
        return 0;
}

/* Returns the place of `size` bytes of records that begin at `nsec`, or NULL if there is none. */
static uint8_t *extract_reserve(Extract *extract, size_t size, uint64_t nsec, uint32_t *ret_delta) {
        size_t subbuf_size = extract->batch->subbuf_size;

        *ret_delta = extract_make_room(extract, size, nsec);
        if (extract->page + subbuf_size > extract->out_size ||
                        size > subbuf_size - PAGE_HEADER_SIZE) {
                extract->n_unparsed++; /* a clock that goes back again and again */
                return NULL;
        }
        uint8_t *at = extract_get_page(extract) + PAGE_HEADER_SIZE + extract->used;
        extract->used += size;
        return at;
}

/* to: the copy of the run. */
static void extract_clean(const Extract *extract, Run run, uint8_t *to) {
        const Masks *masks = extract->masks;

        for (const BatchRecord *record = run.first; record < run.end; record++)
                mask_clean_record(masks,
                                masks_find(masks, record->id),
                                to + (record->word - run.first->word) + record->head,
                                batch_record_get_size(record));
}

static void put_run(Extract *extract, Run run) {
        const BatchRecord *first = run.first, *last = run.end - 1;
        size_t size = (size_t)(last->word + last->whole - first->word);
        uint32_t delta;

        uint8_t *at = extract_reserve(extract, size, first->nsec, &delta);
        if (!at)
                return;
        memcpy(at, first->word, size);
        page_put_u32(at, (page_get_u32(at) & TYPE_MASK) | delta << 5);
        if (extract->masks)
                extract_clean(extract, run, at);
        extract->last_nsec = last->nsec;
        extract->n_records += (uint32_t)(run.end - first);
}

static void take_run(Extract *extract, Run run) {
        if (run.first == run.end)
                return;
        if (extract->out)
                put_run(extract, run);
        else
                extract->n_records += (uint32_t)(run.end - run.first);
}

/* Returns whether the daemon wrote the record for a viewer. */
static inline bool is_mark(const BatchRecord *record) {
        return batch_record_get_size(record) > MARK_TEXT &&
               batch_record_get_body(record)[MARK_TEXT] == '\x02';
}

/* Returns the viewer of a mark, or SHARE_VIEWERS_MAX: a mark without a viewer is for none. */
static uint32_t find_viewer(const BatchRecord *record) {
        char digits[SHARE_MARK_SIZE] = "";
        char *end = digits;
        unsigned long viewer = 0;

        if (batch_record_get_size(record) >= MARK_TEXT + SHARE_MARK_SIZE) {
                memcpy(digits, batch_record_get_body(record) + MARK_TEXT + 1, SHARE_MARK_SIZE - 1);
                viewer = strtoul(digits, &end, 16);
        }
        bool is_good = end == digits + SHARE_MARK_SIZE - 1 && viewer < SHARE_VIEWERS_MAX;
        return is_good ? (uint32_t)viewer : SHARE_VIEWERS_MAX;
}

/* Copies a mark without the number of its viewer. */
static void put_mark(Extract *extract, const BatchRecord *record) {
        size_t text = batch_record_get_size(record) - MARK_TEXT - SHARE_MARK_SIZE,
               size = (MARK_TEXT + text + 3) & ~(size_t)3, is_long = size / 4 > TYPE_DATA_MAX,
               whole = 4 + 4 * is_long + size;
        const uint8_t *body = batch_record_get_body(record);
        uint32_t delta;

        uint8_t *at = extract_reserve(extract, whole, record->nsec, &delta);
        if (!at)
                return;
        page_put_u32(at, delta << 5 | (is_long ? 0 : (uint32_t)size / 4));
        if (is_long)
                page_put_u32(at + 4, (uint32_t)size + 4);
        at += whole - size;
        memset(at, 0, size);
        memcpy(at, body, MARK_TEXT);
        memcpy(at + MARK_TEXT, body + MARK_TEXT + SHARE_MARK_SIZE, text);
        if (extract->masks)
                mask_clean_record(extract->masks, masks_find(extract->masks, record->id), at, size);
        extract->last_nsec = record->nsec;
        extract->n_records++;
}

/* Records that must be cleaned, of an event without cuts: they are left out. */
static bool extract_is_unknown(const Extract *extract, uint16_t id) {
        return extract->masks && !masks_find(extract->masks, id);
}

static void take_mark(Extract *extract, const BatchRecord *record) {
        uint32_t viewer = find_viewer(record);

        if (viewer != extract->portion.viewer) {
                if (viewer < SHARE_VIEWERS_MAX)
                        extract->mark_viewers |= UINT64_C(1) << viewer;
                return;
        }
        extract->n_wanted++;
        if (extract_is_unknown(extract, record->id))
                extract->n_unknown++;
        else if (extract->out)
                put_mark(extract, record);
        else
                extract->n_records++;
}

int extract_add_condition(ExtractChoice *choice, uint16_t id, Condition *condition) {
        size_t n = (size_t)id + 1;

        if (n > choice->n_conditions) {
                Condition **grown = reallocarray(choice->conditions, n, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                memset(grown + choice->n_conditions,
                                0,
                                (n - choice->n_conditions) * sizeof(*grown));
                choice->conditions = grown;
                choice->n_conditions = n;
        }
        if (choice->conditions[id])
                return -EBADMSG;
        choice->conditions[id] = condition;
        return 0;
}

void extract_clear_choice(ExtractChoice *choice) {
        for (size_t i = 0; i < choice->n_conditions; i++)
                condition_free(choice->conditions[i]);
        free(choice->conditions);
        choice->conditions = NULL;
        choice->n_conditions = 0;
}

static const Condition *extract_find_condition(const ExtractChoice *choice, uint16_t id) {
        return id < choice->n_conditions && defence_is_on("share-filters") ? choice->conditions[id]
                                                                           : NULL;
}

/* Adds records to the run. If they do not begin where it ends, they begin the next one. */
static inline void extract_add(Extract *extract,
                Run *run,
                const BatchRecord *first,
                const BatchRecord *end) {
        if (first != run->end || first->word != batch_record_get_end(first - 1)) {
                take_run(extract, *run);
                run->first = first;
        }
        run->end = end;
}

/* Writes 1 for each record for which the condition holds, and 0 for the others. */
static void extract_judge(const Extract *extract,
                const Condition *condition,
                const BatchRecord *first,
                const BatchRecord *end) {
        uint8_t *verdict = extract->batch->verdicts;
        unsigned cpu = extract->batch->cpu;

        for (const BatchRecord *record = first; record < end; record++)
                *verdict++ = condition_holds(condition,
                                batch_record_get_body(record),
                                batch_record_get_size(record),
                                cpu);
}

/* Adds those of a group for which the condition holds. A branch for each verdict would cost more
 * than memchr(), because the processor cannot predict the verdicts. */
static void extract_filter(Extract *extract,
                Run *run,
                const Condition *condition,
                const BatchRecord *first,
                const BatchRecord *end) {
        const uint8_t *verdicts = extract->batch->verdicts, *last = verdicts + (end - first), *from,
                      *to = verdicts;

        extract_judge(extract, condition, first, end);
        while ((from = memchr(to, 1, (size_t)(last - to)))) {
                to = memchr(from, 0, (size_t)(last - from)) ?: last;
                extract_add(extract, run, first + (from - verdicts), first + (to - verdicts));
        }
}

/* Records of one event. */
static void take_group(Extract *extract,
                Run *run,
                const BatchRecord *first,
                const BatchRecord *end) {
        uint32_t n = (uint32_t)(end - first);
        uint16_t id = first->id;
        const EventBits *off = extract->portion.off;
        bool is_off = off && event_bits_has(off, id),
             is_wanted = event_bits_has(&extract->choice->keep, id) && !is_off;

        extract->n_wanted += is_wanted ? n : 0;
        if (is_off || (!is_wanted && defence_is_on("share-events")))
                return;
        if (extract_is_unknown(extract, id)) {
                extract->n_unknown += n;
                return;
        }
        const Condition *condition = extract_find_condition(extract->choice, id);
        if (condition)
                extract_filter(extract, run, condition, first, end);
        else
                extract_add(extract, run, first, end);
}

/* Records of the event of the marks, which other programs also write. */
static void take_marks(Extract *extract,
                Run *run,
                const BatchRecord *first,
                const BatchRecord *end) {
        for (const BatchRecord *record = first; record < end; record++) {
                if (!is_mark(record) || !defence_is_on("share-marks")) {
                        take_group(extract, run, record, record + 1);
                        continue;
                }
                take_run(extract, *run);
                *run = (Run){};
                take_mark(extract, record);
        }
}

/* The part may begin and end in the middle of a group. */
static void take_part(Extract *extract, BatchPart part) {
        const BatchRecord *next;
        Run run = {};

        for (const BatchRecord *first = part.begin; first < part.end; first = next) {
                next = first + MAX_OF(first->n_alike, 1U);
                next = MIN_OF(next, part.end);
                if (first->id == extract->choice->marker_id)
                        take_marks(extract, &run, first, next);
                else
                        take_group(extract, &run, first, next);
        }
        take_run(extract, run);
}

static void take_only_marks(Extract *extract, BatchPart part) {
        for (const BatchRecord *record = part.begin; record < part.end; record++)
                if (record->id == extract->choice->marker_id && is_mark(record))
                        take_mark(extract, record);
}

/* A batch of which no record is taken is another instance's, whatever its end is. */
static uint64_t count_unparsed(const Batch *batch, BatchPart part) {
        return part.begin < part.end || batch->n_records == 0 ? batch->n_unparsed : 0;
}

size_t extract_batch(Extract *extract, const Batch *batch) {
        BatchPart all = batch_get_all(batch),
                  part = extract->portion.part.begin ? extract->portion.part : all;

        extract->batch = batch;
        extract->scratch = extract->masks ? batch->scratch : NULL;
        extract->n_unparsed = count_unparsed(batch, part);
        take_only_marks(extract, (BatchPart){ all.begin, part.begin });
        take_part(extract, part);
        take_only_marks(extract, (BatchPart){ part.end, all.end });
        if (extract->used == 0)
                return extract->page;
        extract_close_page(extract);
        return extract->page + PAGE_HEADER_SIZE + extract->used;
}
