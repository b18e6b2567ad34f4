/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "perfetto/proto.h"

static void check(TextBlock *block, const char *expected, size_t size) {
        g_assert_false(block->is_short_of_memory);
        g_assert_cmpmem(block->data, block->used, expected, size);
        text_block_clear(block);
}

#define CHECK(block, expected) check(block, expected, sizeof(expected) - 1)

static void test_numbers(void) {
        TextBlock block = {};

        proto_add_number(&block, 1, 0);
        proto_add_number(&block, 2, 127);
        proto_add_number(&block, 15, 128);
        proto_add_number(&block, 16, 300);
        proto_add_number(&block, 131071, 1);
        CHECK(&block, "\x08\0\x10\x7f\x78\x80\x01\x80\x01\xac\x02\xf8\xff\x3f\x01");
        proto_add_number(&block, 1, (uint64_t)INT64_C(-1));
        CHECK(&block, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

/* The bytes that are not UTF-8 become U+FFFD, one for each. */
static void test_texts(void) {
        TextBlock block = {};

        proto_add_string(&block, 1, "");
        proto_add_string(&block, 2, "a\x1b\"");
        proto_add_string(&block, 3, "\xc3\xa4");
        CHECK(&block,
                        "\x0a\0\x12\x03"
                        "a\x1b\"\x1a\x02\xc3\xa4");
        proto_add_text(&block, 1, "a\xff\xc3", 3);
        CHECK(&block,
                        "\x0a\x07"
                        "a\xef\xbf\xbd\xef\xbf\xbd");
        /* A surrogate, and an over-long slash. */
        proto_add_text(&block, 1, "\xed\xa0\x80\xc0\xaf", 5);
        g_assert_cmpuint(block.used, ==, 2 + 5 * 3);
        text_block_clear(&block);
}

/* Reads a varint at *at. */
static uint64_t read_varint(const TextBlock *block, size_t *at) {
        uint64_t value = 0;

        for (unsigned shift = 0;; shift += 7) {
                uint8_t byte;

                g_assert_cmpuint(*at, <, block->used);
                byte = (uint8_t)block->data[(*at)++];
                value |= (uint64_t)(byte & 0x7f) << shift;
                if (byte < 0x80)
                        return value;
        }
}

/* A message in a message, on both sides of each length of a length. */
static void test_messages(void) {
        static const size_t sizes[] = { 0,
                1,
                100,
                120,
                124,
                125,
                126,
                127,
                128,
                129,
                16377,
                16378,
                16380,
                16383,
                16384,
                16385,
                2097151,
                2097152 };

        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
                g_autofree char *text = g_strnfill(sizes[i], 'x');
                size_t outer, inner, at = 0, end;
                TextBlock block = {};

                outer = proto_open(&block, 1);
                proto_add_number(&block, 2, 5);
                inner = proto_open(&block, 3);
                text_block_add(&block, text, sizes[i]);
                proto_close(&block, inner);
                proto_add_number(&block, 4, 6);
                proto_close(&block, outer);

                g_assert_cmpuint(read_varint(&block, &at), ==, 1 << 3 | 2);
                end = read_varint(&block, &at);
                g_assert_cmpuint(at + end, ==, block.used);
                g_assert_cmpuint(read_varint(&block, &at), ==, 2 << 3);
                g_assert_cmpuint(read_varint(&block, &at), ==, 5);
                g_assert_cmpuint(read_varint(&block, &at), ==, 3 << 3 | 2);
                g_assert_cmpuint(read_varint(&block, &at), ==, sizes[i]);
                g_assert_cmpmem(block.data + at, sizes[i], text, sizes[i]);
                at += sizes[i];
                g_assert_cmpuint(read_varint(&block, &at), ==, 4 << 3);
                g_assert_cmpuint(read_varint(&block, &at), ==, 6);
                g_assert_cmpuint(at, ==, block.used);
                text_block_clear(&block);
        }
}

/* A message that does not fit is not written: half of it would damage the file. */
static void test_no_memory(void) {
        g_autofree char *text = g_strnfill(9 * 1024 * 1024, 'x');
        TextBlock block = {};
        size_t place = proto_open(&block, 1);

        proto_add_string(&block, 2, text);
        g_assert_false(block.is_short_of_memory);
        proto_add_string(&block, 2, text);
        proto_add_string(&block, 2, text);
        g_assert_true(block.is_short_of_memory);
        proto_close(&block, place);
        g_assert_cmpint(text_block_write(&block, NULL), ==, -ENOMEM);
        text_block_clear(&block);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/proto/numbers", test_numbers);
        g_test_add_func("/proto/texts", test_texts);
        g_test_add_func("/proto/messages", test_messages);
        g_test_add_func("/proto/no-memory", test_no_memory);
        return g_test_run();
}
