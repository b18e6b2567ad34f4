/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <string.h>

#include "page-builder.h"

#include "consumer/records/mask-rules.h"

#define MISSED        (1U << 31)
#define MISSED_STORED (1U << 30)
#define TYPE_PADDING  29U
#define RANDOM_PAGES  100000

typedef struct Fixture {
        Masks *masks;
        PageTally tally;
        uint8_t page[PAGE_SIZE_TEST], before[PAGE_SIZE_TEST];
        PageBuilder builder;
} Fixture;

static void set_up(Fixture *f, gconstpointer data _unused_) {
        _cleanup_json_ json_object *events = page_events_new();

        *f = (Fixture){};
        g_assert_cmpint(masks_new(events, false, &f->masks), ==, 0);
        f->tally.pids = g_malloc0(PAGE_PIDS_MAX / 8);
        page_begin(&f->builder, f->page);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        masks_free(f->masks);
        g_free(f->tally.pids);
}

static void clean(Fixture *f, uint32_t flags) {
        page_end(&f->builder, flags);
        memcpy(f->before, f->page, sizeof(f->page));
        page_clean(f->masks, f->page, sizeof(f->page), &f->tally);
}

static void assert_zero(const uint8_t *at, size_t size) {
        for (size_t i = 0; i < size; i++)
                g_assert_cmphex(at[i], ==, 0);
}

/* Was not touched. */
static void assert_kept(const Fixture *f, const uint8_t *at, size_t size) {
        g_assert_cmpmem(at, size, f->before + (at - f->page), size);
}

/* A record whose located fields are empty. */
static uint8_t *add_plain(Fixture *f, uint32_t pid, size_t size) {
        uint8_t *body = page_add_record(&f->builder, EVENT_ID, pid, size);

        memset(body + 24, 0, 12);
        return body;
}

static void test_holes(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = add_plain(f, 12, EVENT_FIXED);

        clean(f, 0);
        assert_kept(f, body - 4, 4 + 9);
        assert_zero(body + 9, 7);
        assert_kept(f, body + 16, 20);
}

static void test_fixed_only(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = add_plain(f, 12, EVENT_FIXED + 24);

        clean(f, 0);
        assert_zero(body + EVENT_FIXED, 24);
}

static void test_short_record(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = page_add_record(&f->builder, EVENT_ID, 12, 12);

        clean(f, 0);
        assert_kept(f, body, 9);
        assert_zero(body + 9, 3);
        g_assert_cmpuint(f->tally.n_unparsed, ==, 0);
}

static void test_located(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = add_plain(f, 12, 80);

        page_put_u32(body + 24, 10U << 16 | 40); /* text: its NUL comes early */
        memcpy(body + 40, "abc\0secret", 10);
        page_put_u32(body + 28, 6U << 16 | 52); /* data: all of it, NUL or not */
        memcpy(body + 52, "de\0f\0g", 6);
        page_put_u32(body + 32, 8U << 16 | 28); /* near: from 36 on, so at 64 */
        memcpy(body + 64, "xyz\0rest", 8);
        clean(f, 0);
        assert_kept(f, body + 24, 12);
        assert_zero(body + 36, 4);
        g_assert_cmpmem(body + 40, 12, "abc\0\0\0\0\0\0\0\0\0", 12);
        g_assert_cmpmem(body + 52, 12, "de\0f\0g\0\0\0\0\0\0", 12);
        g_assert_cmpmem(body + 64, 16, "xyz\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

static void test_located_out_of_order(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = add_plain(f, 12, 60);

        page_put_u32(body + 24, 4U << 16 | 52);
        page_put_u32(body + 28, 6U << 16 | 40);
        page_put_u32(body + 32, 4U << 16 | 6); /* at 42, inside the one before */
        clean(f, 0);
        assert_zero(body + 36, 4);
        assert_kept(f, body + 40, 6);
        assert_zero(body + 46, 6);
        assert_kept(f, body + 52, 4);
        assert_zero(body + 56, 4);
}

static void test_located_outside(Fixture *f, gconstpointer data _unused_) {
        static const uint32_t hostile[] = {
                0xffffffff,    /* beyond */
                8U << 16 | 56, /* begins inside, ends behind the record */
                8U << 16 | 61, /* begins behind the record */
                40U << 16 | 0, /* the record itself */
                16U << 16 | 9, /* the hole */
                0xffffU << 16 | 36,
        };

        for (size_t i = 0; i < ELEMENTSOF(hostile); i++) {
                page_begin(&f->builder, f->page);
                uint8_t *body = add_plain(f, 12, 60);

                page_put_u32(body + 24, hostile[i]);
                page_put_u32(body + 28, hostile[i]);
                page_put_u32(body + 32, 0xfff0U << 16 | 0xffff);
                clean(f, 0);
                assert_zero(body + 9, 7);
                assert_zero(body + EVENT_FIXED, 60 - EVENT_FIXED);
        }
}

static void test_open_array(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = page_add_record(&f->builder, EVENT_ID_TEXT, 12, 40);

        memcpy(body + 16, "a mark\n\0leak", 12);
        clean(f, 0);
        assert_kept(f, body, 24);
        assert_zero(body + 24, 16);
}

/* The kernel copies a name up to its NUL and leaves what the ring held behind it. */
static void test_char_arrays(Fixture *f, gconstpointer data _unused_) {
        for (size_t nul = 8; nul <= 35; nul++) {
                page_begin(&f->builder, f->page);
                uint8_t *body = page_add_record(&f->builder, EVENT_ID_NAMES, 12, 36);

                /* Neighbours that a search eight bytes at once could mistake. */
                body[nul - 1] = nul == 24 ? 0x01 : 0x80;
                body[nul] = nul < 35 ? 0 : DIRT;
                if (nul < 34)
                        body[nul + 1] = 0x01;
                size_t comm_end = nul < 24 ? nul : 24, odd_end = nul >= 24 ? nul : 35;
                clean(f, 0);
                assert_kept(f, body, comm_end);
                assert_zero(body + comm_end, 24 - comm_end);
                assert_kept(f, body + 24, odd_end - 24);
                assert_zero(body + odd_end, 35 - odd_end);
                g_assert_cmphex(body[35], ==, DIRT);
        }
}

/* Cut off before its end. */
static void test_short_char_array(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = page_add_record(&f->builder, EVENT_ID_NAMES, 12, 28);

        body[10] = 0;
        clean(f, 0);
        assert_kept(f, body, 11);
        assert_zero(body + 11, 13);
}

static void test_long_record(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = page_add_record(&f->builder, EVENT_ID_TEXT, 12, 400);

        clean(f, 0);
        assert_kept(f, body - 8, 408); /* no NUL in it: all of it is text */
}

static void test_unknown(Fixture *f, gconstpointer data _unused_) {
        static const size_t sizes[] = { 4, 8, 112, 116 };

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                page_begin(&f->builder, f->page);
                size_t at = f->builder.at;
                page_add_record(&f->builder, 9999, 12, sizes[i]);
                size_t whole = f->builder.at - at;
                uint8_t *after = add_plain(f, 13, EVENT_FIXED);

                clean(f, 0);
                g_assert_cmphex(page_get_u32(f->page + at), ==, 7U << 5 | TYPE_PADDING);
                g_assert_cmpuint(page_get_u32(f->page + at + 4), ==, whole - 4);
                assert_zero(f->page + at + 8, whole - 8);
                assert_kept(f, after, 9);
                g_assert_cmpuint(f->tally.n_unknown, ==, i + 1);
        }
        g_assert_cmpuint(f->tally.n_unparsed, ==, 0);
}

/* A padding without a delta would reach to the end of the sub-buffer. */
static void test_unknown_without_delta(Fixture *f, gconstpointer data _unused_) {
        uint8_t *body = page_add_record(&f->builder, 9999, 12, 8);

        page_put_u32(body - 4, 2);
        uint8_t *after = add_plain(f, 13, EVENT_FIXED);
        clean(f, 0);
        g_assert_cmphex(page_get_u32(body - 4), ==, 1U << 5 | TYPE_PADDING);
        assert_kept(f, after, 9);
}

static void test_padding(Fixture *f, gconstpointer data _unused_) {
        page_add_word(&f->builder, TYPE_PADDING, 3); /* discarded */
        page_add_u32(&f->builder, 20);
        uint8_t *body = f->page + f->builder.at;
        f->builder.at += 16;
        page_add_word(&f->builder, 30, 5); /* time extend */
        page_add_u32(&f->builder, 0x12345);
        page_add_word(&f->builder, 31, 5); /* time stamp */
        page_add_u32(&f->builder, 0x54321);
        uint8_t *after = add_plain(f, 13, EVENT_FIXED);
        page_add_word(&f->builder, TYPE_PADDING, 0); /* to the end */
        uint8_t *rest = f->page + f->builder.at;
        f->builder.at += 40;
        clean(f, 0);
        assert_kept(f, body - 8, 8);
        assert_zero(body, 16);
        assert_kept(f, body + 16, 16);
        assert_kept(f, after, 9);
        assert_kept(f, rest - 4, 4);
        assert_zero(rest, 40);
        g_assert_cmpuint(f->tally.n_unparsed, ==, 0);
}

static void test_beyond_commit(Fixture *f, gconstpointer data _unused_) {
        add_plain(f, 12, EVENT_FIXED);
        size_t end = f->builder.at;

        clean(f, MISSED);
        assert_kept(f, f->page, PAGE_HEADER_SIZE);
        assert_zero(f->page + end, PAGE_SIZE_TEST - end);
}

static void test_missed_count(Fixture *f, gconstpointer data _unused_) {
        add_plain(f, 12, EVENT_FIXED);
        size_t end = f->builder.at;

        clean(f, MISSED | MISSED_STORED);
        assert_kept(f, f->page, PAGE_HEADER_SIZE);
        assert_kept(f, f->page + end, 8);
        assert_zero(f->page + end + 8, PAGE_SIZE_TEST - end - 8);
        g_assert_cmpuint(page_get_used(f->page, PAGE_SIZE_TEST), ==, end + 8);
}

/* The kernel's page was full, or its commit lies. */
static void test_used_within_size(Fixture *f, gconstpointer data _unused_) {
        page_put_u32(f->page + 8, 0xffffffff);
        g_assert_cmpuint(page_get_used(f->page, PAGE_SIZE_TEST), ==, PAGE_SIZE_TEST);
        page_clean(f->masks, f->page, PAGE_SIZE_TEST, &f->tally);
        page_put_u32(f->page + 8, 0);
        g_assert_cmpuint(page_get_used(f->page, PAGE_SIZE_TEST), ==, PAGE_HEADER_SIZE);
}

static void test_unparsed(Fixture *f, gconstpointer data _unused_) {
        /* type_len, next word: a record that is longer than what is left, or has no sense */
        static const uint32_t hostile[][2] = {
                { 28, 0 },
                { 0, 0 },
                { 0, 3 },
                { 0, 5000 },
                { 0, 0xffffffff },
                { 0, 0xfffffffc },
                { TYPE_PADDING | 1 << 5, 2 },
                { TYPE_PADDING | 1 << 5, 0x7fffffff },
        };

        for (size_t i = 0; i < ELEMENTSOF(hostile); i++) {
                page_begin(&f->builder, f->page);
                uint8_t *before = add_plain(f, 13, EVENT_FIXED);
                size_t at = f->builder.at;
                page_add_u32(&f->builder, hostile[i][0]);
                page_add_u32(&f->builder, hostile[i][1]);
                f->builder.at += 8;
                clean(f, 0);
                assert_kept(f, before, 9);
                g_assert_cmphex(page_get_u32(f->page + at), ==, TYPE_PADDING);
                assert_zero(f->page + at + 4, PAGE_SIZE_TEST - at - 4);
                g_assert_cmpuint(f->tally.n_unparsed, ==, i + 1);
        }
}

/* Only a record that is reported names its process. */
static void test_pids(Fixture *f, gconstpointer data _unused_) {
        add_plain(f, 12, EVENT_FIXED);
        add_plain(f, PAGE_PIDS_MAX - 1, EVENT_FIXED);
        add_plain(f, 0xffffffff, EVENT_FIXED);
        page_add_record(&f->builder, 9999, 14, EVENT_FIXED);
        clean(f, 0);
        g_assert_cmphex(f->tally.pids[12 / 8], ==, 1 << 12 % 8);
        g_assert_cmphex(f->tally.pids[PAGE_PIDS_MAX / 8 - 1], ==, 0x80);
        f->tally.pids[12 / 8] = f->tally.pids[PAGE_PIDS_MAX / 8 - 1] = 0;
        assert_zero(f->tally.pids, PAGE_PIDS_MAX / 8);
}

static void add_random_record(Fixture *f, GRand *random) {
        static const uint16_t ids[] = {
                EVENT_ID, EVENT_ID_TEXT, EVENT_ID_NAMES, 0, 1, 9999, 0xffff
        };
        size_t size = 4 * (size_t)g_rand_int_range(random, 1, 60);

        if (f->builder.at + size + 8 > PAGE_SIZE_TEST)
                return;
        uint8_t *body = page_add_record(&f->builder,
                        ids[g_rand_int_range(random, 0, ELEMENTSOF(ids))],
                        g_rand_int(random),
                        size);
        for (size_t i = 8; i < size; i++)
                body[i] = (uint8_t)g_rand_int(random);
        if (size >= 36 && g_rand_boolean(random))
                for (size_t at = 24; at < 36; at += 4)
                        page_put_u32(body + at,
                                        (uint32_t)g_rand_int_range(random, 0, 40) << 16 |
                                                        (uint32_t)g_rand_int_range(random, 0, 200));
}

static void make_random_page(Fixture *f, GRand *random) {
        page_begin(&f->builder, f->page);
        for (int n = g_rand_int_range(random, 0, 60); n > 0; n--)
                add_random_record(f, random);
        page_end(&f->builder, g_rand_boolean(random) ? MISSED | MISSED_STORED : 0);
        for (int n = g_rand_int_range(random, 0, 8); n > 0; n--) /* bytes that lie */
                f->page[g_rand_int_range(random, 8, PAGE_SIZE_TEST)] = (uint8_t)g_rand_int(random);
}

/* Whatever the bytes: nothing outside is read (under AddressSanitizer: an exact allocation), what
 * comes out can be walked to its end, and cleaning it again changes nothing. */
static void test_hostile(Fixture *f, gconstpointer data _unused_) {
        g_autoptr(GRand) random = g_rand_new_with_seed(20261120);

        for (int i = 0; i < RANDOM_PAGES; i++) {
                make_random_page(f, random);
                size_t used = page_get_used(f->page, PAGE_SIZE_TEST);
                g_assert_cmpuint(used, <=, PAGE_SIZE_TEST);
                g_autofree uint8_t *exact = g_memdup2(f->page, used);
                g_autofree uint8_t *again = NULL;

                page_clean(f->masks, exact, used, &f->tally);
                page_clean(f->masks, f->page, PAGE_SIZE_TEST, &f->tally);
                g_assert_cmpmem(exact, used, f->page, used);
                assert_zero(f->page + used, PAGE_SIZE_TEST - used);
                uint64_t n_unknown = f->tally.n_unknown, n_unparsed = f->tally.n_unparsed;
                again = g_memdup2(f->page, PAGE_SIZE_TEST);
                page_clean(f->masks, again, PAGE_SIZE_TEST, &f->tally);
                g_assert_cmpmem(again, PAGE_SIZE_TEST, f->page, PAGE_SIZE_TEST);
                g_assert_cmpuint(f->tally.n_unknown, ==, n_unknown);
                g_assert_cmpuint(f->tally.n_unparsed, ==, n_unparsed);
        }
        g_assert_cmpuint(f->tally.n_unparsed, >, 0);
}

static void test_bad_events(void) {
        static const char *const bad[] = {
                "{}",
                "[1]",
                "[{}]",
                "[{\"format\":1}]",
                "[{\"format\":\"\"}]",
                "[{\"format\":\"name: x\\nID: 70000\\nformat:\\n\\nprint fmt: \\\"\\\"\\n\"}]",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_json_ json_object *events = json_tokener_parse(bad[i]);
                Masks *masks = NULL;

                g_assert_nonnull(events);
                g_assert_cmpint(masks_new(events, false, &masks), ==, -EBADMSG);
                g_assert_null(masks);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(path, run) g_test_add(path, Fixture, NULL, set_up, run, tear_down)
        ADD("/page/holes", test_holes);
        ADD("/page/fixed-only", test_fixed_only);
        ADD("/page/short-record", test_short_record);
        ADD("/page/located", test_located);
        ADD("/page/located-out-of-order", test_located_out_of_order);
        ADD("/page/located-outside", test_located_outside);
        ADD("/page/open-array", test_open_array);
        ADD("/page/char-arrays", test_char_arrays);
        ADD("/page/short-char-array", test_short_char_array);
        ADD("/page/long-record", test_long_record);
        ADD("/page/unknown", test_unknown);
        ADD("/page/unknown-without-delta", test_unknown_without_delta);
        ADD("/page/padding", test_padding);
        ADD("/page/beyond-commit", test_beyond_commit);
        ADD("/page/missed-count", test_missed_count);
        ADD("/page/used-within-size", test_used_within_size);
        ADD("/page/unparsed", test_unparsed);
        ADD("/page/pids", test_pids);
        ADD("/page/hostile", test_hostile);
        g_test_add_func("/page/bad-events", test_bad_events);
        return g_test_run();
}
