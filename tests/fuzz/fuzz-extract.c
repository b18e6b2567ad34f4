/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The sub-buffers of a shared instance: whatever they hold, a class of viewers gets those records
 * of its events that its filters let through, with its cuts and the exact times. They are compared
 * with a slow walk over the source. Nothing is written beyond the room for them. Two viewers that
 * get the batch up to a record, and from it on, get the same together. */

#include <string.h>

#include "consumer/mux/extract.h"
#include "consumer/records/mask-rules.h"
#include "consumer/records/page-walk.h"
#include "fuzz.h"

#define PAGES       3
#define SUBBUF_MAX  8192
#define RECORDS_MAX (PAGES * SUBBUF_MAX / 8)
#define DIRT        0xd7
#define MARKER_ID   5
#define EVENT_ID    300
#define OTHER_ID    301
#define MARK_TEXT   16

const char *const fuzz_words[] = { "\x1d",
        "\x1e",
        "\x1f",
        "\x2c\x01",
        "\x2d\x01",
        "\x05\x00",
        "\x02",
        "00000003",
        "\xff\xff\xff\xff",
        NULL };

static const char format_text[] =
                "name: try\nID: 300\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:u32 value;\toffset:8;\tsize:4;\tsigned:0;\n"
                "\tfield:u64 end;\toffset:16;\tsize:8;\tsigned:0;\n\n"
                "print fmt: \"\"\n";

/* Records one after the other: time, size, body. */
typedef struct Log {
        uint8_t bytes[PAGES * SUBBUF_MAX + RECORDS_MAX * (sizeof(uint64_t) + sizeof(size_t))];
        size_t size;
} Log;

typedef struct Slow {
        const ExtractChoice *choice;
        const Masks *masks;
        Log *log;
} Slow;

static void log_add(Log *log, const uint8_t *record, size_t size, uint64_t nsec) {
        fuzz_check(log->size + sizeof(nsec) + sizeof(size) + size <= sizeof(log->bytes));
        memcpy(log->bytes + log->size, &nsec, sizeof(nsec));
        memcpy(log->bytes + log->size + sizeof(nsec), &size, sizeof(size));
        memcpy(log->bytes + log->size + sizeof(nsec) + sizeof(size), record, size);
        log->size += sizeof(nsec) + sizeof(size) + size;
}

/* As page_visit(), but it also shows records that are too short for the common fields. */
static void walk(uint8_t *page,
                size_t size,
                const Slow *slow,
                void (*visit)(const Slow *slow, const Record *record, uint64_t nsec)) {
        Walk walk = page_walk_begin(page, size, false);
        Record record;

        while (walk_next(&walk, &record))
                visit(slow, &record, walk.nsec);
}

static void choose(const Slow *slow, const Record *record, uint64_t nsec) {
        uint16_t id = page_get_id(record);
        const Condition *condition = id == EVENT_ID ? slow->choice->conditions[id] : NULL;
        bool is_mark = id == MARKER_ID && record->size > MARK_TEXT && record->body[MARK_TEXT] == 2;

        if (is_mark || !event_bits_has(&slow->choice->keep, id) ||
                        !condition_holds(condition, record->body, record->size, 0))
                return;
        if (slow->masks) {
                const Mask *mask = masks_find(slow->masks, id);

                if (!mask)
                        return;
                mask_clean_record(slow->masks, mask, record->body, record->size);
        }
        log_add(slow->log, record->body, record->size, nsec);
}

static void take(const Slow *slow, const Record *record, uint64_t nsec) {
        log_add(slow->log, record->body, record->size, nsec);
}

static ExtractChoice *make_choice(void) {
        static ExtractChoice choice;
        _cleanup_json_ json_object *object = json_tokener_parse(
                        "{\"or\":[{\"field\":\"value\",\"op\":\"&\",\"number\":64},"
                        "{\"field\":\"common_pid\",\"op\":\"<\",\"number\":0}]}");
        _cleanup_(format_free_cleanup) Format *format = NULL;
        Condition *condition = NULL;

        if (choice.marker_id != 0)
                return &choice;
        choice.marker_id = MARKER_ID;
        event_bits_add(&choice.keep, MARKER_ID);
        event_bits_add(&choice.keep, EVENT_ID);
        event_bits_add(&choice.keep, OTHER_ID);
        fuzz_check(format_parse(format_text, strlen(format_text), &format, NULL) == 0);
        fuzz_check(condition_new(object, format, &condition) == 0);
        fuzz_check(extract_add_condition(&choice, EVENT_ID, condition) == 0);
        return &choice;
}

static const Masks *make_masks(void) {
        static Masks *masks;
        _cleanup_json_ json_object *events = json_object_new_array(),
                                   *event = json_object_new_object();

        if (masks)
                return masks;
        json_object_object_add(event, "name", json_object_new_string("try"));
        json_object_object_add(event, "id", json_object_new_int(EVENT_ID));
        json_object_object_add(event, "format", json_object_new_string(format_text));
        json_object_array_add(events, json_object_get(event));
        fuzz_check(masks_new(events, false, &masks) == 0);
        return masks;
}

/* viewer: of the marks, which the slow walk leaves out. */
static void compare(Batch *batch, const Masks *masks, uint32_t viewer) {
        static uint8_t out[PAGES * SUBBUF_MAX + 64], copy[PAGES * SUBBUF_MAX];
        static Log expected, got;
        size_t subbuf_size = batch->subbuf_size, size = PAGES * subbuf_size;
        const Slow slow = { make_choice(), masks, &expected }, result = { .log = &got };
        Extract extract = {
                .choice = slow.choice,
                .masks = masks,
                .portion.viewer = viewer,
                .out = out,
                .out_size = size,
        };

        expected.size = got.size = 0;
        memset(out, DIRT, sizeof(out));
        memcpy(copy, batch->bytes, size);
        batch_index(batch, 0, size);
        size_t used = extract_batch(&extract, batch);
        fuzz_check(used <= size);
        for (size_t i = size; i < sizeof(out); i++)
                fuzz_check(out[i] == DIRT);
        fuzz_check(memcmp(copy, batch->bytes, size) == 0); /* other classes need them, too */
        for (size_t at = 0; at < used; at += subbuf_size)
                walk(out + at, MIN_OF(subbuf_size, used - at), &result, take);
        if (viewer != EXTRACT_NO_VIEWER || extract.n_unparsed != batch->n_unparsed)
                return; /* there are marks, or times went back too often */
        for (size_t at = 0; at < size; at += subbuf_size)
                walk(copy + at, subbuf_size, &slow, choose);
        fuzz_check(expected.size == got.size && memcmp(expected.bytes, got.bytes, got.size) == 0);
}

/* Returns whether all sub-buffers had room: times may go back too often. */
static bool add_part(const Batch *batch, BatchPart part, Log *log) {
        static uint8_t out[PAGES * SUBBUF_MAX];
        size_t subbuf_size = batch->subbuf_size;
        const Slow result = { .log = log };
        Extract extract = {
                .choice = make_choice(),
                .portion = { .viewer = EXTRACT_NO_VIEWER, .part = part },
                .out = out,
                .out_size = PAGES * subbuf_size,
        };
        size_t used = extract_batch(&extract, batch);

        fuzz_check(used <= PAGES * subbuf_size);
        for (size_t at = 0; at < used; at += subbuf_size)
                walk(out + at, MIN_OF(subbuf_size, used - at), &result, take);
        return extract.n_unparsed <= batch->n_unparsed;
}

static void compare_parts(const Batch *batch, size_t n) {
        static Log expected, got;
        BatchPart all = batch_get_all(batch);
        const BatchRecord *cut = all.begin + n % (batch->n_records + 1);

        expected.size = got.size = 0;
        bool is_whole = add_part(batch, all, &expected);
        is_whole = add_part(batch, (BatchPart){ all.begin, cut }, &got) && is_whole;
        is_whole = add_part(batch, (BatchPart){ cut, all.end }, &got) && is_whole;
        fuzz_check(!is_whole || (expected.size == got.size &&
                                                memcmp(expected.bytes, got.bytes, got.size) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static Batch small, large;
        Batch *batch = size % 3 == 0 ? &large : &small;

        if (!small.bytes && (batch_init(&small, 4096) < 0 || batch_init(&large, SUBBUF_MAX) < 0))
                return 0;
        memset(batch->bytes, DIRT, PAGES * batch->subbuf_size);
        for (size_t i = 0; i < PAGES; i++) {
                size_t from = size * i / PAGES, n = MIN_OF(size / PAGES, batch->subbuf_size);

                if (n > 0)
                        memcpy(batch->bytes + i * batch->subbuf_size, data + from, n);
        }
        compare(batch, NULL, EXTRACT_NO_VIEWER);
        compare(batch, make_masks(), EXTRACT_NO_VIEWER);
        compare(batch, size % 2 ? make_masks() : NULL, 3);
        compare_parts(batch, size / 3);
        return 0;
}
