/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes the records of one class of viewers out of the sub-buffers of a shared instance. A run of
 * records that all belong to the class is copied at once; when all records of a sub-buffer do, that
 * is one memcpy(). Padding ends a run: it may hold a record that the kernel has discarded. Times
 * stay exact: the first record of a run gets a delta to the last copied record, or a time extension
 * before it if the delta has more than 27 bits.
 *
 * The result never needs more sub-buffers than the source. A run that does not fit begins a new
 * one, and all runs of one source sub-buffer fit into one. A time extension has 8 bytes, and the
 * dropped record before it had at least 12.
 *
 * The daemon writes a mark of a session as ftrace:print, with the number of its viewer before the
 * text (share.h). Only that viewer gets the record, without the number. The walk trusts no byte of
 * the source: see page.c. */

#include "consumer/mux/extract.h"

#include <errno.h>
#include <string.h>

#include "consumer/records/page-walk.h"
#include "interfaces/defence.h"
#include "interfaces/share.h"

#define EXTEND_SIZE 8
#define MARK_TEXT   16 /* offset of the text of ftrace:print */

/* Consecutive records that are copied together. */
typedef struct Run {
        const uint8_t *begin, *end; /* begin NULL: no run */
        uint64_t first_nsec, last_nsec;
        uint32_t n_records;
} Run;

static uint8_t *extract_get_page(const Extract *extract) {
        return extract->out + extract->page;
}

/* Writes the header of the sub-buffer that is being filled. */
static void extract_close_page(Extract *extract) {
        uint64_t commit = extract->used;

        memcpy(extract_get_page(extract) + 8, &commit, sizeof(commit));
}

static void extract_next_page(Extract *extract) {
        size_t used = PAGE_HEADER_SIZE + extract->used;

        extract_close_page(extract);
        memset(extract_get_page(extract) + used, 0, extract->subbuf_size - used);
        extract->page += extract->subbuf_size;
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
        size_t room = extract->subbuf_size - PAGE_HEADER_SIZE;

        /* Times go back only where a program has changed the clock. */
        if (extract->used > 0 &&
                        (nsec < extract->last_nsec || extract->used + EXTEND_SIZE + size > room))
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

static bool extract_has_room(const Extract *extract, size_t size) {
        size_t room = extract->subbuf_size - PAGE_HEADER_SIZE;

        return extract->page + extract->subbuf_size <= extract->out_size && size <= room;
}

static void put_run(Extract *extract, Run *run) {
        if (!run->begin)
                return;
        size_t size = (size_t)(run->end - run->begin);
        uint32_t delta = extract_make_room(extract, size, run->first_nsec);

        if (extract_has_room(extract, size)) {
                uint8_t *at = extract_get_page(extract) + PAGE_HEADER_SIZE + extract->used;

                memcpy(at, run->begin, size);
                page_put_u32(at, (page_get_u32(at) & TYPE_MASK) | delta << 5);
                extract->used += size;
                extract->last_nsec = run->last_nsec;
                extract->n_records += run->n_records;
        } else /* a clock that goes back again and again */
                extract->n_unparsed++;
        *run = (Run){};
}

/* Finds the viewer of a mark. Returns false if the record is no mark of the daemon. A mark without
 * a viewer is for none. */
static bool find_viewer(const Record *record, uint32_t *ret_viewer) {
        char digits[SHARE_MARK_SIZE] = "";
        char *end = digits;
        unsigned long viewer = 0;

        if (record->size <= MARK_TEXT || record->body[MARK_TEXT] != '\x02')
                return false;
        if (record->size >= MARK_TEXT + SHARE_MARK_SIZE) {
                memcpy(digits, record->body + MARK_TEXT + 1, SHARE_MARK_SIZE - 1);
                viewer = strtoul(digits, &end, 16);
        }
        bool is_good = end == digits + SHARE_MARK_SIZE - 1 && viewer < SHARE_VIEWERS_MAX;
        *ret_viewer = is_good ? (uint32_t)viewer : SHARE_VIEWERS_MAX;
        return true;
}

/* Copies a mark without the number of its viewer. */
static void put_mark(Extract *extract, const Record *record, uint64_t nsec) {
        size_t text = record->size - MARK_TEXT - SHARE_MARK_SIZE,
               body = (MARK_TEXT + text + 3) & ~(size_t)3, is_long = body / 4 > TYPE_DATA_MAX,
               whole = 4 + 4 * is_long + body;
        uint32_t delta = extract_make_room(extract, whole, nsec);

        if (!extract_has_room(extract, whole)) {
                extract->n_unparsed++;
                return;
        }
        uint8_t *at = extract_get_page(extract) + PAGE_HEADER_SIZE + extract->used;
        page_put_u32(at, delta << 5 | (is_long ? 0 : (uint32_t)body / 4));
        if (is_long)
                page_put_u32(at + 4, (uint32_t)body + 4);
        at += whole - body;
        memset(at, 0, body);
        memcpy(at, record->body, MARK_TEXT);
        memcpy(at + MARK_TEXT, record->body + MARK_TEXT + SHARE_MARK_SIZE, text);
        extract->used += whole;
        extract->last_nsec = nsec;
        extract->n_records++;
}

static void take_mark(Extract *extract, const Record *record, uint64_t nsec, uint32_t viewer) {
        if (viewer == extract->viewer)
                put_mark(extract, record, nsec);
        else if (viewer < SHARE_VIEWERS_MAX)
                extract->mark_viewers |= UINT64_C(1) << viewer;
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

/* Whether the viewers of the class get the record. Counts those of their events. */
static bool is_chosen(Extract *extract, uint16_t id, const Record *record) {
        const ExtractChoice *choice = extract->choice;
        bool is_off = extract->off && extract->off[id / 8] >> (id % 8) & 1,
             is_wanted = extract_keeps(choice, id) && !is_off;

        extract->n_wanted += is_wanted;
        if (is_off || (!is_wanted && defence_is_on("share-events")))
                return false;
        if (id >= choice->n_conditions || !choice->conditions[id] ||
                        !defence_is_on("share-filters"))
                return true;
        return condition_holds(choice->conditions[id], record->body, record->size, extract->cpu);
}

void extract_page(Extract *extract, const uint8_t *page, size_t size) {
        const ExtractChoice *choice = extract->choice;
        Walk walk = page_walk_begin(page, size, false);
        Run run = {};
        Record record;

        while (walk_next(&walk, &record)) {
                uint16_t id = page_get_id(&record);
                uint32_t viewer;

                if (id == choice->marker_id && defence_is_on("share-marks") &&
                                find_viewer(&record, &viewer)) {
                        put_run(extract, &run);
                        take_mark(extract, &record, walk.nsec, viewer);
                } else if (!is_chosen(extract, id, &record))
                        put_run(extract, &run);
                else {
                        if (run.end != record.word)
                                put_run(extract, &run);
                        if (!run.begin)
                                run = (Run){ .begin = record.word, .first_nsec = walk.nsec };
                        run.end = record.word + record.whole;
                        run.last_nsec = walk.nsec;
                        run.n_records++;
                }
        }
        put_run(extract, &run);
        extract->n_unparsed += walk.at < walk.end;
}

size_t extract_end(Extract *extract) {
        if (extract->used == 0)
                return extract->page;
        extract_close_page(extract);
        return extract->page + PAGE_HEADER_SIZE + extract->used;
}
