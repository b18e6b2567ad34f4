/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "stream-fixture.h"
#include "trace/subbuf.h"

static unsigned walk(const uint8_t *page,
                size_t size,
                Subbuf *ret,
                int64_t *ret_missed,
                uint64_t *ret_last) {
        const uint8_t *data;
        uint32_t length;
        unsigned n = 0;

        subbuf_open(ret, page, size, 8, ret_missed);
        while (subbuf_next(ret, &data, &length, ret_last)) {
                g_assert_true(data >= page && data + length <= page + size);
                n++;
        }
        return n;
}

static void test_records(void) {
        uint8_t big[300] = { 1 };
        uint64_t ts = 0;
        int64_t missed;
        Subbuf sub;
        Page page;

        page_init(&page, 1000);
        page_add(&page, 1000, big, 8);
        page_add(&page, 1500, big, sizeof(big));
        /* Beyond 27 bits: a time extend before it. */
        page_add(&page, 1500 + (UINT64_C(5) << 27) + 3, big, 12);
        g_assert_cmpuint(walk(page.data, sizeof(page.data), &sub, &missed, &ts), ==, 3);
        g_assert_cmpuint(ts, ==, 1500 + (UINT64_C(5) << 27) + 3);
        g_assert_cmpint(missed, ==, 0);
        g_assert_false(sub.is_damaged);
        /* Cut behind its committed bytes: as if zeros followed. */
        g_assert_cmpuint(walk(page.data, page_size(&page), &sub, &missed, &ts), ==, 3);
        g_assert_false(sub.is_damaged);
}

static void test_time_stamp(void) {
        uint8_t data[8] = { 0 };
        uint32_t stamp[2] = { 31 | 7 << 5, 2 };
        uint64_t ts = 0, base = UINT64_C(0x08) << 56 | 5;
        int64_t missed;
        Subbuf sub;
        Page page;

        page_init(&page, base);
        memcpy(page.data + 16, stamp, sizeof(stamp));
        page.used = sizeof(stamp);
        page_add(&page, base, data, sizeof(data));
        g_assert_cmpuint(walk(page.data, sizeof(page.data), &sub, &missed, &ts), ==, 1);
        /* The five highest bits are the sub-buffer's. */
        g_assert_cmphex(ts, ==, (UINT64_C(0x08) << 56 | UINT64_C(2) << 27 | 7));
}

/* A record that the consumer took out: padding with a delta, array[0] = length - 4. */
static void test_discarded(void) {
        uint8_t data[16] = { 0 };
        uint32_t padding[2] = { 29 | 100 << 5, 16 };
        uint64_t ts = 0;
        int64_t missed;
        Subbuf sub;
        Page page;

        page_init(&page, 1000);
        page_add(&page, 1100, data, sizeof(data));
        memcpy(page.data + 16, padding, sizeof(padding));
        page_add(&page, 1150, data, sizeof(data));
        g_assert_cmpuint(walk(page.data, sizeof(page.data), &sub, &missed, &ts), ==, 1);
        g_assert_cmpuint(ts, ==, 1150);

        /* Without a delta it fills the rest. */
        padding[0] = 29;
        memcpy(page.data + 16, padding, sizeof(padding));
        g_assert_cmpuint(walk(page.data, sizeof(page.data), &sub, &missed, &ts), ==, 0);
        g_assert_false(sub.is_damaged);
}

static void test_missed(void) {
        uint8_t data[8] = { 0 };
        uint64_t ts;
        int64_t missed;
        Subbuf sub;
        Page page;

        page_init(&page, 1000);
        page_add(&page, 1000, data, sizeof(data));
        page_set_missed(&page, 12);
        g_assert_cmpuint(walk(page.data, sizeof(page.data), &sub, &missed, &ts), ==, 1);
        g_assert_cmpint(missed, ==, 12);
        /* The number was cut off. */
        g_assert_cmpuint(walk(page.data, page_size(&page), &sub, &missed, &ts), ==, 1);
        g_assert_cmpint(missed, ==, -1);
        page_set_missed(&page, 0);
        walk(page.data, sizeof(page.data), &sub, &missed, &ts);
        g_assert_cmpint(missed, ==, -1);
}

static void test_damaged(void) {
        static const uint32_t entries[][2] = {
                { 0, 0 }, /* a length shorter than its own word */
                { 0, 3 },
                { 0, UINT32_MAX },
                { 0, 5000 },
                { 28, 0 }, /* longer than what is left */
                { 30, 0 }, /* its second word is beyond the end */
        };
        uint64_t ts;
        int64_t missed;
        Subbuf sub;

        for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
                uint8_t page[FIXTURE_SUBBUF_SIZE] = { 0 };
                uint64_t commit = entries[i][0] == 30 ? 4 : 16;

                memcpy(page + 8, &commit, sizeof(commit));
                memcpy(page + 16, entries[i], sizeof(entries[i]));
                g_assert_cmpuint(walk(page, sizeof(page), &sub, &missed, &ts), ==, 0);
                g_assert_true(sub.is_damaged);
        }
}

static void test_commit_beyond(void) {
        uint8_t data[8] = { 0 };
        uint64_t ts, commit = (1 << 27) - 1;
        int64_t missed;
        Subbuf sub;
        Page page;

        page_init(&page, 1000);
        page_add(&page, 1000, data, sizeof(data));
        memcpy(page.data + 8, &commit, sizeof(commit));
        walk(page.data, page_size(&page), &sub, &missed, &ts);
        g_assert_true(sub.is_damaged);
        g_assert_cmpuint(walk(page.data, 0, &sub, &missed, &ts), ==, 0);
        g_assert_cmpuint(walk(page.data, 15, &sub, &missed, &ts), ==, 0);
}

/* Whatever stands in a page, the walk stays inside it and ends; walk() asserts it. */
static void test_noise(void) {
        GRand *rand = g_rand_new_with_seed(20250101);
        uint64_t ts;
        int64_t missed;
        Subbuf sub;

        for (unsigned round = 0; round < 20000; round++) {
                size_t size = (size_t)g_rand_int_range(rand, 0, 256);
                uint8_t *page = g_malloc(size);

                for (size_t i = 0; i < size; i++)
                        page[i] = (uint8_t)g_rand_int(rand);
                if (size >= 16)
                        memset(page + 10, 0, 6);
                walk(page, size, &sub, &missed, &ts);
                g_free(page);
        }
        g_rand_free(rand);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/subbuf/records", test_records);
        g_test_add_func("/subbuf/time-stamp", test_time_stamp);
        g_test_add_func("/subbuf/discarded", test_discarded);
        g_test_add_func("/subbuf/missed", test_missed);
        g_test_add_func("/subbuf/damaged", test_damaged);
        g_test_add_func("/subbuf/commit-beyond", test_commit_beyond);
        g_test_add_func("/subbuf/noise", test_noise);
        return g_test_run();
}
