/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a viewer of a shared instance gets of each sub-buffer: its records, all of them, with their
 * exact times, and none of others. */

#include <string.h>

#include "page-builder.h"

#include "consumer/mux/extract.h"
#include "consumer/records/mask-rules.h"
#include "interfaces/share.h"

#define MARKER_ID 5
#define PAGES     8

typedef struct Seen {
        uint64_t nsec;
        GBytes *record;
} Seen;

static void seen_clear(void *seen) {
        g_bytes_unref(((Seen *)seen)->record);
}

static GArray *seen_new(void) {
        GArray *all = g_array_new(false, false, sizeof(Seen));

        g_array_set_clear_func(all, seen_clear);
        return all;
}

static bool see(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        Seen seen = { nsec, g_bytes_new(record, size) };

        g_array_append_val((GArray *)userdata, seen);
        return true;
}

/* The records of several sub-buffers, in their order. */
static GArray *read_pages(const uint8_t *bytes, size_t size) {
        GArray *all = seen_new();

        for (size_t at = 0; at < size; at += PAGE_SIZE_TEST)
                page_visit((uint8_t *)bytes + at, MIN(PAGE_SIZE_TEST, size - at), see, all);
        return all;
}

static uint16_t get_id(const Seen *seen) {
        uint16_t id;

        memcpy(&id, g_bytes_get_data(seen->record, NULL), sizeof(id));
        return id;
}

static bool has_passed(const ExtractChoice *choice, const Seen *seen) {
        uint16_t id = get_id(seen);
        const int32_t *words = g_bytes_get_data(seen->record, NULL);

        return id >= choice->n_conditions || !choice->conditions[id] || words[1] < 50;
}

static unsigned count_wanted(const GArray *all, const ExtractChoice *choice) {
        unsigned n = 0;

        for (guint i = 0; i < all->len; i++)
                n += event_bits_has(&choice->keep, get_id(&g_array_index(all, Seen, i)));
        return n;
}

/* `got` has the chosen records of `all`, and nothing else. */
static void assert_chosen(const GArray *all, const ExtractChoice *choice, const GArray *got) {
        guint at = 0;

        for (guint i = 0; i < all->len; i++) {
                const Seen *seen = &g_array_index(all, Seen, i);

                if (!event_bits_has(&choice->keep, get_id(seen)) || !has_passed(choice, seen))
                        continue;
                g_assert_cmpuint(at, <, got->len);
                const Seen *other = &g_array_index(got, Seen, at++);
                g_assert_cmpuint(seen->nsec, ==, other->nsec);
                g_assert_true(g_bytes_equal(seen->record, other->record));
        }
        g_assert_cmpuint(at, ==, got->len);
}

static uint32_t pick(uint32_t n) {
        return (uint32_t)g_test_rand_int_range(0, (gint32)n);
}

/* Records of ids below n_ids until the page is full, with long gaps here and there. */
static void fill_page(uint8_t *page, uint64_t *nsec, unsigned n_ids) {
        PageBuilder builder;

        page_begin(&builder, page);
        page_set_time(&builder, *nsec);
        uint64_t now = *nsec;
        while (builder.at < PAGE_SIZE_TEST - 400) {
                now += pick(20) == 0 ? (UINT64_C(1) << 27) + pick(1000) : pick(3000) + 8;
                page_add_at(&builder, now, (uint16_t)(300 + pick(n_ids)), pick(100));
                if (pick(6) == 0)
                        page_add_record(&builder, 300, 1, 8 + 4 * pick(40)), now = builder.nsec;
        }
        *nsec = now + 50;
        page_end(&builder, 0);
}

static void fill_batch(Batch *batch, const uint8_t *pages, size_t n_pages) {
        g_assert_cmpint(batch_init(batch, PAGE_SIZE_TEST), ==, 0);
        memcpy(batch->bytes, pages, n_pages * PAGE_SIZE_TEST);
        batch_index(batch, 0, n_pages * PAGE_SIZE_TEST);
}

/* masks: NULL for a class without cuts. */
static size_t extract_pages(const ExtractChoice *choice,
                const Masks *masks,
                uint32_t viewer,
                const uint8_t *pages,
                size_t n_pages,
                uint8_t *out,
                Extract *extract) {
        Batch batch;

        fill_batch(&batch, pages, n_pages);
        *extract = (Extract){
                .choice = choice,
                .masks = masks,
                .portion.viewer = viewer,
                .out = out,
                .out_size = n_pages * PAGE_SIZE_TEST,
        };
        size_t size = extract_batch(extract, &batch);
        batch_clear(&batch);
        return size;
}

/* Only records of tasks below 50. */
static void filter_id(ExtractChoice *choice, uint16_t id) {
        static const char text[] =
                        "name: try\nID: 300\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                        "print fmt: \"\"\n";
        _cleanup_json_ json_object *object = json_tokener_parse(
                        "{\"and\":[{\"field\":\"common_pid\",\"op\":\"<\",\"number\":50}]}");
        _cleanup_(format_free_cleanup) Format *format = NULL;
        Condition *condition = NULL;

        g_assert_cmpint(format_parse(text, strlen(text), &format, NULL), ==, 0);
        g_assert_cmpint(condition_new(object, format, &condition), ==, 0);
        g_assert_cmpint(extract_add_condition(choice, id, condition), ==, 0);
}

/* For random records and viewers: each gets what an instance of its own would have recorded. */
static void test_random(void) {
        for (unsigned round = 0; round < 300; round++) {
                g_autofree ExtractChoice *choice = g_new0(ExtractChoice, 1);
                uint8_t pages[PAGES * PAGE_SIZE_TEST], out[PAGES * PAGE_SIZE_TEST];
                uint64_t nsec = 1000000 + pick(1000);
                unsigned n_ids = 1 + pick(8), chosen = pick(256);
                Extract extract;

                choice->marker_id = MARKER_ID;
                for (uint16_t i = 0; i < 8; i++)
                        if (chosen >> i & 1)
                                event_bits_add(&choice->keep, 300 + i);
                for (uint16_t i = 0; i < 8; i++)
                        if (pick(4) == 0)
                                filter_id(choice, 300 + i);
                for (unsigned i = 0; i < PAGES; i++)
                        fill_page(pages + i * PAGE_SIZE_TEST, &nsec, n_ids);
                g_autoptr(GArray) all = read_pages(pages, sizeof(pages));
                size_t size = extract_pages(
                                choice, NULL, EXTRACT_NO_VIEWER, pages, PAGES, out, &extract);
                g_autoptr(GArray) got = read_pages(out, size);
                assert_chosen(all, choice, got);
                g_assert_cmpuint(extract.n_wanted, ==, count_wanted(all, choice));
                extract_clear_choice(choice);
                g_assert_cmpuint(extract.n_records, ==, got->len);
                g_assert_cmpuint(extract.n_unparsed, ==, 0);
        }
}

/* cleaned: by page.c, which makes a dropped record 1 ns long, and takes that off the next delta
 * that is not 0. */
static void assert_equal(const GArray *cleaned, const GArray *got) {
        g_assert_cmpuint(cleaned->len, ==, got->len);
        for (guint i = 0; i < cleaned->len; i++) {
                const Seen *x = &g_array_index(cleaned, Seen, i), *y = &g_array_index(got, Seen, i);

                g_assert_cmpuint(x->nsec - y->nsec, <=, 1);
                g_assert_true(g_bytes_equal(x->record, y->record));
        }
}

/* A class with cuts gets what another one gets, cleaned as a stream of its own is. */
static void test_cuts(void) {
        _cleanup_json_ json_object *events = page_events_new();
        g_autofree ExtractChoice *choice = g_new0(ExtractChoice, 1);
        Masks *masks;

        g_assert_cmpint(masks_new(events, false, &masks), ==, 0);
        choice->marker_id = MARKER_ID;
        for (uint16_t i = 0; i < 8; i++)
                event_bits_add(&choice->keep, 300 + i);
        filter_id(choice, EVENT_ID);
        for (unsigned round = 0; round < 300; round++) {
                uint8_t pages[PAGES * PAGE_SIZE_TEST], whole[PAGES * PAGE_SIZE_TEST],
                                cut[PAGES * PAGE_SIZE_TEST];
                uint64_t nsec = 1000000;
                PageTally tally = {};
                Extract extract;

                for (unsigned i = 0; i < PAGES; i++)
                        fill_page(pages + i * PAGE_SIZE_TEST, &nsec, 1 + pick(8));
                memset(cut, DIRT, sizeof(cut));
                size_t size = extract_pages(
                                choice, NULL, EXTRACT_NO_VIEWER, pages, PAGES, whole, &extract);
                for (size_t at = 0; at < size; at += PAGE_SIZE_TEST)
                        page_clean(masks, whole + at, MIN(PAGE_SIZE_TEST, size - at), &tally);
                g_autoptr(GArray) expected = read_pages(whole, size);
                size = extract_pages(choice, masks, EXTRACT_NO_VIEWER, pages, PAGES, cut, &extract);
                g_autoptr(GArray) got = read_pages(cut, size);
                assert_equal(expected, got);
                g_assert_cmpuint(extract.n_records, ==, got->len);
                g_assert_cmpuint(extract.n_unknown, ==, tally.n_unknown);
        }
        extract_clear_choice(choice);
        masks_free(masks);
}

static void test_whole(void) {
        g_autofree ExtractChoice *choice = g_new0(ExtractChoice, 1);
        uint8_t page[PAGE_SIZE_TEST], out[PAGE_SIZE_TEST];
        PageBuilder builder;
        Extract extract;

        event_bits_add(&choice->keep, 300);
        page_begin(&builder, page);
        for (unsigned i = 0; i < 40; i++)
                page_add_record(&builder, 300, i, 8 + 4 * i);
        page_end(&builder, 0);
        size_t size = extract_pages(choice, NULL, EXTRACT_NO_VIEWER, page, 1, out, &extract);
        g_assert_cmpuint(size, ==, page_get_used(page, sizeof(page)));
        /* The first record has its time in the header. */
        g_assert_cmpmem(out + 20, size - 20, page + 20, size - 20);
}

static void add_mark(PageBuilder *builder, const char *text) {
        size_t size = 16 + (strlen(text) + 1 + 3) / 4 * 4;
        uint8_t *record = page_add_record(builder, MARKER_ID, 77, size);

        memset(record + 16, 0, size - 16);
        memcpy(record + 16, text, strlen(text));
}

static const char *get_text(const GArray *got, guint i) {
        return (const char *)g_bytes_get_data(g_array_index(got, Seen, i).record, NULL) + 16;
}

/* A mark is seen by its own viewer only, without the viewer's number. */
static void test_marks(void) {
        g_autofree ExtractChoice *choice = g_new0(ExtractChoice, 1);
        uint8_t page[PAGE_SIZE_TEST], out[PAGE_SIZE_TEST];
        _cleanup_json_ json_object *events = page_events_new();
        char longest[300] = "\00200000003";
        Masks *masks;
        PageBuilder builder;
        Extract extract;

        choice->marker_id = MARKER_ID;
        event_bits_add(&choice->keep, 300);
        event_bits_add(&choice->keep, MARKER_ID);
        memset(longest + 9, 'x', sizeof(longest) - 10);
        page_begin(&builder, page);
        page_set_time(&builder, 1000);
        page_add_record(&builder, 300, 1, 16);
        add_mark(&builder, "\00200000003for three");
        page_add_record(&builder, 301, 1, 16);
        add_mark(&builder, "\0020000003ffor sixty-three");
        add_mark(&builder, longest);
        add_mark(&builder, "\002fffffffffor none");
        add_mark(&builder, "\002broken");
        page_add_record(&builder, 300, 2, 16);
        page_end(&builder, 0);

        size_t size = extract_pages(choice, NULL, EXTRACT_NO_VIEWER, page, 1, out, &extract);
        g_autoptr(GArray) others = read_pages(out, size);
        g_assert_cmpuint(others->len, ==, 2);
        g_assert_cmpuint(extract.mark_viewers, ==, UINT64_C(1) << 3 | UINT64_C(1) << 63);

        size = extract_pages(choice, NULL, 3, page, 1, out, &extract);
        g_autoptr(GArray) own = read_pages(out, size);
        g_assert_cmpuint(own->len, ==, 4);
        g_assert_cmpstr(get_text(own, 1), ==, "for three");
        g_assert_cmpstr(get_text(own, 2), ==, longest + 9);
        g_autoptr(GArray) all = read_pages(page, sizeof(page));
        g_assert_cmpuint(g_array_index(own, Seen, 3).nsec, ==, g_array_index(all, Seen, 7).nsec);
        g_assert_cmpuint(extract.mark_viewers, ==, UINT64_C(1) << 63);

        /* A class that has cuts, but none for marks, gets no mark. */
        g_assert_cmpint(masks_new(events, false, &masks), ==, 0);
        size = extract_pages(choice, masks, 3, page, 1, out, &extract);
        g_autoptr(GArray) cut = read_pages(out, size);
        g_assert_cmpuint(cut->len, ==, 2);
        g_assert_cmpuint(extract.n_unknown, ==, 2);
        masks_free(masks);
}

/* The part of the batch, as a list of its own. */
static GArray *cut_list(const GArray *all, guint begin, guint end) {
        GArray *part = seen_new();

        for (guint i = begin; i < end; i++) {
                const Seen *seen = &g_array_index(all, Seen, i);
                Seen copy = { seen->nsec, g_bytes_ref(seen->record) };

                g_array_append_val(part, copy);
        }
        return part;
}

/* Two viewers get the batch up to a record and from it on, wherever that is: in a group, in a
 * sub-buffer, at an end. */
static void test_parts(void) {
        g_autofree ExtractChoice *choice = g_new0(ExtractChoice, 1);

        choice->marker_id = MARKER_ID;
        event_bits_add(&choice->keep, 300);
        event_bits_add(&choice->keep, 302);
        filter_id(choice, 302);
        for (unsigned round = 0; round < 300; round++) {
                uint8_t pages[2 * PAGE_SIZE_TEST], out[2 * PAGE_SIZE_TEST];
                uint64_t nsec = 1000000 + pick(1000);
                Batch batch;

                for (unsigned i = 0; i < 2; i++)
                        fill_page(pages + i * PAGE_SIZE_TEST, &nsec, 1 + round % 4);
                fill_batch(&batch, pages, 2);
                g_autoptr(GArray) all = read_pages(pages, sizeof(pages));
                g_assert_cmpuint(all->len, ==, batch.n_records);
                guint n = (guint)batch.n_records, cut = round == 0 ? 0 : round == 1 ? n : pick(n);
                for (unsigned i = 0; i < 2; i++) {
                        guint begin = i == 0 ? 0 : cut, end = i == 0 ? cut : n;
                        const BatchPart part = { batch.records + begin, batch.records + end };
                        Extract extract = { .choice = choice,
                                .portion = { .viewer = EXTRACT_NO_VIEWER, .part = part },
                                .out = out,
                                .out_size = sizeof(out) };

                        g_autoptr(GArray) expected = cut_list(all, begin, end);
                        g_autoptr(GArray) got = read_pages(out, extract_batch(&extract, &batch));
                        assert_chosen(expected, choice, got);
                        g_assert_cmpuint(extract.n_wanted, ==, count_wanted(expected, choice));
                        g_assert_cmpuint(extract.n_records, ==, got->len);
                }
                batch_clear(&batch);
        }
        extract_clear_choice(choice);
}

/* A sub-buffer that cannot be read to its end is counted by the instance that shows it. */
static void test_part_unparsed(void) {
        ExtractChoice choice = { .marker_id = MARKER_ID };
        uint8_t page[PAGE_SIZE_TEST], out[PAGE_SIZE_TEST];
        PageBuilder builder;
        Batch batch;

        page_begin(&builder, page);
        page_add_record(&builder, 300, 1, 16);
        page_add_word(&builder, 20, 7); /* longer than what follows */
        page_end(&builder, 0);
        fill_batch(&batch, page, 1);
        g_assert_cmpuint(batch.n_records, ==, 1);
        for (unsigned i = 0; i < 2; i++) {
                Extract extract = { .choice = &choice,
                        .portion = { .viewer = EXTRACT_NO_VIEWER,
                                        .part = { batch.records, batch.records + i } },
                        .out = out,
                        .out_size = sizeof(out) };

                extract_batch(&extract, &batch);
                g_assert_cmpuint(extract.n_unparsed, ==, i);
        }
        batch_clear(&batch);
}

/* A mark is only in one of two instances. So it is taken wherever the part begins or ends. */
static void test_part_marks(void) {
        ExtractChoice choice = { .marker_id = MARKER_ID };
        uint8_t page[PAGE_SIZE_TEST], out[PAGE_SIZE_TEST];
        PageBuilder builder;
        Batch batch;

        event_bits_add(&choice.keep, 300);
        event_bits_add(&choice.keep, MARKER_ID);
        page_begin(&builder, page);
        page_set_time(&builder, 1000);
        page_add_record(&builder, 300, 1, 16);
        add_mark(&builder, "\00200000003early");
        add_mark(&builder, "\00200000004of another");
        add_mark(&builder, "a00000003 program's own");
        page_add_record(&builder, 300, 2, 16);
        page_add_record(&builder, 300, 3, 16);
        add_mark(&builder, "\00200000003late");
        page_end(&builder, 0);
        fill_batch(&batch, page, 1);
        Extract extract = { .choice = &choice,
                .portion = { .viewer = 3, .part = { batch.records + 4, batch.records + 5 } },
                .out = out,
                .out_size = sizeof(out) };

        g_autoptr(GArray) got = read_pages(out, extract_batch(&extract, &batch));
        g_assert_cmpuint(got->len, ==, 3);
        g_assert_cmpstr(get_text(got, 0), ==, "early");
        g_assert_cmpuint(get_id(&g_array_index(got, Seen, 1)), ==, 300);
        g_assert_cmpstr(get_text(got, 2), ==, "late");
        g_assert_cmpuint(extract.n_wanted, ==, 3);
        g_assert_cmpuint(extract.mark_viewers, ==, 1 << 4);
        batch_clear(&batch);
}

/* Whatever the bytes are, nothing is written beyond the result, and the result can be walked. */
static void test_hostile(void) {
        _cleanup_json_ json_object *events = page_events_new();
        g_autofree ExtractChoice *choice = g_new0(ExtractChoice, 1);
        Masks *masks;

        g_assert_cmpint(masks_new(events, false, &masks), ==, 0);
        memset(&choice->keep, 0x5a, sizeof(choice->keep));
        choice->marker_id = 9;
        for (unsigned round = 0; round < 3000; round++) {
                uint8_t pages[PAGES * PAGE_SIZE_TEST], out[PAGES * PAGE_SIZE_TEST + 64];
                uint64_t nsec = 1000;
                Extract extract;

                for (unsigned i = 0; i < PAGES; i++)
                        fill_page(pages + i * PAGE_SIZE_TEST, &nsec, 8);
                for (unsigned n = pick(200); n > 0; n--)
                        pages[pick(sizeof(pages))] = (uint8_t)pick(256);
                memset(out + sizeof(pages), DIRT, 64);
                size_t size = extract_pages(
                                choice, round % 2 ? masks : NULL, 3, pages, PAGES, out, &extract);
                g_assert_cmpuint(size, <=, sizeof(pages));
                for (unsigned i = 0; i < 64; i++)
                        g_assert_cmpuint(out[sizeof(pages) + i], ==, DIRT);
                g_autoptr(GArray) got = read_pages(out, size);
                for (guint i = 0; i < got->len; i++)
                        g_assert_true(event_bits_has(&choice->keep,
                                                      get_id(&g_array_index(got, Seen, i))) ||
                                        get_id(&g_array_index(got, Seen, i)) == 9);
        }
        masks_free(masks);
}

/* A record that the kernel's filter has discarded is padding between two records of the class. */
static void test_padding(void) {
        static const char secret[16] = "of another user";
        uint8_t page[PAGE_SIZE_TEST], out[PAGE_SIZE_TEST];
        ExtractChoice choice = { .marker_id = MARKER_ID };
        PageBuilder builder;
        Extract extract;

        page_begin(&builder, page);
        page_add_record(&builder, 300, 1, 16);
        page_add_word(&builder, 29, 3);
        page_add_u32(&builder, 4 + sizeof(secret));
        memcpy(page + builder.at, secret, sizeof(secret));
        builder.at += sizeof(secret);
        page_add_record(&builder, 300, 2, 16);
        page_end(&builder, 0);
        event_bits_add(&choice.keep, 300);
        size_t size = extract_pages(&choice, NULL, EXTRACT_NO_VIEWER, page, 1, out, &extract);
        g_assert_cmpuint(extract.n_records, ==, 2);
        g_assert_null(memmem(out, size, secret, sizeof(secret)));
        g_autoptr(GArray) all = read_pages(page, PAGE_SIZE_TEST);
        g_autoptr(GArray) got = read_pages(out, size);
        assert_chosen(all, &choice, got);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/extract/random", test_random);
        g_test_add_func("/extract/cuts", test_cuts);
        g_test_add_func("/extract/padding", test_padding);
        g_test_add_func("/extract/whole", test_whole);
        g_test_add_func("/extract/marks", test_marks);
        g_test_add_func("/extract/parts", test_parts);
        g_test_add_func("/extract/part-unparsed", test_part_unparsed);
        g_test_add_func("/extract/part-marks", test_part_marks);
        g_test_add_func("/extract/hostile", test_hostile);
        return g_test_run();
}
