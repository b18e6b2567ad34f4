/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packets: any cut of the bytes gives the same packets; wrong types, sizes and orders are refused.
 */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "remote/packet.h"

static void put(GByteArray *bytes, PacketType type, const void *data, size_t size) {
        uint8_t head[PACKET_HEAD_SIZE];

        packet_write_head(head, type, size);
        g_byte_array_append(bytes, head, sizeof(head));
        g_byte_array_append(bytes, data, (guint)size);
}

/* Feeds the bytes in portions. Returns the number of packets, or -EBADMSG. */
static int feed(PacketSide from,
                const GByteArray *bytes,
                size_t portion,
                char *ret_types,
                Reason *reason) {
        PacketReader *reader = g_new0(PacketReader, 1);
        int n = 0, r = 0;
        Packet packet;

        reader->from = from;
        for (size_t i = 0; r == 0 && i < bytes->len; i += portion) {
                size_t left = MIN(portion, bytes->len - i), size;

                while (r == 0 && left > 0) {
                        uint8_t *space = packet_reader_get_space(reader, &size);

                        g_assert_cmpuint(size, >, 0);
                        size = MIN(size, left);
                        memcpy(space, bytes->data + i + MIN(portion, bytes->len - i) - left, size);
                        packet_reader_add(reader, size);
                        left -= size;
                        while ((r = packet_reader_take(reader, &packet, reason)) > 0) {
                                if (ret_types)
                                        ret_types[n] = (char)('a' + packet.type);
                                n++;
                        }
                }
        }
        g_free(reader);
        return r < 0 ? r : n;
}

static void test_cuts(void) {
        static const size_t portions[] = { 1, 2, 7, 8, 9, 4096, 65544, 1 << 20 };
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        g_autofree uint8_t *large = g_malloc0(PACKET_DATA_MAX);

        put(bytes, PACKET_HELLO, "{}", 2);
        put(bytes, PACKET_OUTPUT, "x", 1);
        put(bytes, PACKET_STREAM, large, PACKET_DATA_MAX);
        put(bytes, PACKET_STREAM, large, PACKET_DATA_MAX);
        put(bytes, PACKET_PONG, NULL, 0);
        put(bytes, PACKET_STREAM_END, "", 1);
        put(bytes, PACKET_ERRORS, "y", 1);
        put(bytes, PACKET_EXIT, "", 1);
        for (size_t i = 0; i < G_N_ELEMENTS(portions); i++) {
                char types[16] = "";
                Reason reason = {};

                g_assert_cmpint(feed(PACKET_FAR, bytes, portions[i], types, &reason), ==, 8);
                g_assert_cmpmem(types, 9, "bjllimkn", 9);
        }
}

typedef struct Bad {
        PacketSide from;
        PacketType types[4];
        const char *words;
} Bad;

/* A size that the packet may have. */
static size_t get_size(PacketType type) {
        static const size_t sizes[_PACKET_N] = { [PACKET_HELLO] = 2,
                [PACKET_ARGUMENT] = 1,
                [PACKET_INPUT] = 1,
                [PACKET_SIGNAL] = 1,
                [PACKET_OUTPUT] = 1,
                [PACKET_STREAM] = 1,
                [PACKET_STREAM_END] = 1,
                [PACKET_STREAM_NEXT] = 1,
                [PACKET_EXIT] = 1,
                [PACKET_START] = 8,
                [PACKET_STARTED] = 8 };

        return type < _PACKET_N ? sizes[type] : 1;
}

static void test_order(void) {
        static const Bad bads[] = {
                { PACKET_NEAR, { PACKET_RUN }, "run, which may not come now" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_HELLO }, "hello, which may not" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_INPUT }, "input, which may not" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_SIGNAL }, "signal, which may not" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_RUN, PACKET_RUN }, "run, which may not" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_RUN, PACKET_ARGUMENT }, "argument, which" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_OUTPUT }, "output, which this side" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_EXIT }, "exit, which this side" },
                { PACKET_FAR, { PACKET_OUTPUT }, "output, which may not" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_RUN }, "run, which this side" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_INPUT }, "input, which this side" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_EXIT, PACKET_PONG }, "pong, which may not" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_STREAM_END, PACKET_STREAM }, "stream, which" },
                { PACKET_FAR,
                                { PACKET_HELLO, PACKET_STREAM_END, PACKET_STREAM_END },
                                "stream-end" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_START }, "start, which may not" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_LEAVE }, "leave, which may not" },
                { PACKET_NEAR,
                                { PACKET_HELLO, PACKET_RUN, PACKET_START, PACKET_START },
                                "start, which may not" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_ARMED }, "armed, which this side" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_CLOCK_TIMES }, "clock-times, which this" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_CLOCK }, "clock, which this side" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_STARTED }, "started, which may not" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_ARMED, PACKET_ARMED }, "armed, which" },
                { PACKET_FAR, { PACKET_HELLO, PACKET_STREAM_END, PACKET_ARMED }, "armed, which" },
                { PACKET_NEAR, { PACKET_HELLO, PACKET_STREAM_NEXT }, "stream-next, which this" },
                { PACKET_FAR,
                                { PACKET_HELLO, PACKET_STREAM_END, PACKET_STREAM_NEXT },
                                "stream-next, which may" },
                { PACKET_FAR, { PACKET_HELLO, _PACKET_N }, "unknown type" },
                { PACKET_FAR, { PACKET_HELLO, 255 }, "unknown type" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bads); i++) {
                g_autoptr(GByteArray) bytes = g_byte_array_new();
                Reason reason = {};

                for (size_t j = 0; j < G_N_ELEMENTS(bads[i].types) && bads[i].types[j]; j++) {
                        PacketType type = bads[i].types[j];

                        put(bytes, type, "{}{}{}{}{}{}{}{}", get_size(type));
                }
                g_assert_cmpint(feed(bads[i].from, bytes, 5, NULL, &reason), ==, -EBADMSG);
                if (!strstr(reason.text, bads[i].words))
                        g_error("%zu: %s", i, reason.text);
        }
}

/* The empty input is the end of standard input. */
static void test_input_end(void) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        Reason reason = {};

        put(bytes, PACKET_HELLO, "{}", 2);
        put(bytes, PACKET_RUN, NULL, 0);
        put(bytes, PACKET_INPUT, "x", 1);
        put(bytes, PACKET_INPUT, NULL, 0);
        g_assert_cmpint(feed(PACKET_NEAR, bytes, 3, NULL, &reason), ==, 4);
        put(bytes, PACKET_INPUT, "x", 1);
        g_assert_cmpint(feed(PACKET_NEAR, bytes, 3, NULL, &reason), ==, -EBADMSG);
}

static void test_sizes(void) {
        static const struct {
                PacketType type;
                uint32_t size;
        } bads[] = {
                { PACKET_HELLO, 1 },
                { PACKET_HELLO, 4097 },
                { PACKET_HELLO, UINT32_MAX },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bads); i++) {
                g_autoptr(GByteArray) bytes = g_byte_array_new();
                uint8_t head[PACKET_HEAD_SIZE];
                Reason reason = {};

                packet_write_head(head, bads[i].type, bads[i].size);
                g_byte_array_append(bytes, head, sizeof(head));
                /* It is refused before its data comes. */
                g_assert_cmpint(feed(PACKET_FAR, bytes, 8, NULL, &reason), ==, -EBADMSG);
                g_assert_nonnull(strstr(reason.text, "expected 2 to 4096"));
        }
}

static void test_text(void) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        Reason reason = {};

        g_byte_array_append(bytes, (const guint8 *)"W\x1b[31m\nmore", 11);
        g_assert_cmpint(feed(PACKET_FAR, bytes, 20, NULL, &reason), ==, -EBADMSG);
        g_assert_cmpstr(reason.text, ==, "expected a packet of ktracectl, got \"W?[31m\"");
        /* At the first byte. */
        g_assert_cmpint(feed(PACKET_FAR, bytes, 1, NULL, &reason), ==, -EBADMSG);
}

/* A login may print any number of bytes without an end of a line. */
static void test_text_without_end(void) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        Reason reason = {};

        g_byte_array_set_size(bytes, sizeof((PacketReader){}.buffer));
        memset(bytes->data, 'A', bytes->len);
        g_assert_cmpint(feed(PACKET_FAR, bytes, bytes->len, NULL, &reason), ==, -EBADMSG);
        g_assert_cmpuint(strlen(strchr(reason.text, '"')), ==, 1 + 60 + 1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/packet/cuts", test_cuts);
        g_test_add_func("/packet/order", test_order);
        g_test_add_func("/packet/input-end", test_input_end);
        g_test_add_func("/packet/sizes", test_sizes);
        g_test_add_func("/packet/text", test_text);
        g_test_add_func("/packet/text-without-end", test_text_without_end);
        return g_test_run();
}
