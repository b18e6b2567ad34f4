/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The wire format byte by byte, its bounds, and that no bytes crash the decoder. */

#include <glib.h>
#include <string.h>

#include "interfaces/frame.h"

static const uint8_t header_bytes
                [] = { 'K', 'T', 'S', 'T', 'R', 'E', 'A', 'M', 1, 0, 0, 0, 16, 0, 0, 0 };

static void test_stream_header(void) {
        uint8_t bytes[sizeof(StreamHeader)];
        Reason reason;

        stream_header_encode(bytes, STREAM_VERSION);
        g_assert_cmpmem(bytes, sizeof(bytes), header_bytes, sizeof(header_bytes));
        g_assert_cmpint(stream_header_decode(bytes, sizeof(bytes), &reason), ==, 0);
        g_assert_cmpint(stream_header_decode(bytes, 4096, &reason), ==, 0);
}

static void test_stream_header_refused(void) {
        uint8_t bytes[sizeof(StreamHeader)];
        Reason reason;

        memcpy(bytes, header_bytes, sizeof(bytes));
        for (size_t size = 0; size < sizeof(bytes); size++)
                g_assert_cmpint(stream_header_decode(bytes, size, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "not a ktrace stream: 15 bytes, its header alone has 16");

        bytes[0] = 'k';
        g_assert_cmpint(stream_header_decode(bytes, sizeof(bytes), &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "not a ktrace stream: it does not begin with KTSTREAM");

        memcpy(bytes, header_bytes, sizeof(bytes));
        bytes[9] = 1;
        g_assert_cmpint(stream_header_decode(bytes, sizeof(bytes), &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "version 257"));

        memcpy(bytes, header_bytes, sizeof(bytes));
        bytes[12] = 8;
        g_assert_cmpint(stream_header_decode(bytes, sizeof(bytes), &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "a header of 8 bytes"));
}

static void test_frame_header(void) {
        static const uint8_t expected[] = {
                2, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1
        };
        const FrameHeader header = {
                .type = FRAME_DATA,
                .cpu = 0x1234,
                .size = 0x2000000,
                .lost = UINT64_C(0x0102030405060708),
        };
        uint8_t bytes[sizeof(FrameHeader)];
        FrameHeader again;
        Reason reason;

        frame_header_encode(bytes, &header);
        g_assert_cmpmem(bytes, sizeof(bytes), expected, sizeof(expected));
        g_assert_cmpint(frame_header_decode(bytes, &again, &reason), ==, 0);
        g_assert_cmpmem(&again, sizeof(again), &header, sizeof(header));
}

static int decode(FrameHeader header, Reason *reason) {
        uint8_t bytes[sizeof(FrameHeader)];
        FrameHeader again;

        frame_header_encode(bytes, &header);
        return frame_header_decode(bytes, &again, reason);
}

static void test_frame_header_bounds(void) {
        static const FrameHeader good[] = {
                { FRAME_METADATA, 0, 0, 0 },
                { FRAME_METADATA, 0, FRAME_SIZE_MAX, 0 },
                { FRAME_DATA, 8191, FRAME_SIZE_MAX, UINT64_MAX },
                { FRAME_END, 0, 2, 0 },
                { FRAME_PACKED, 8191, 25, 7 },
        };

        static const struct {
                FrameHeader header;
                const char *text;
        } bad[] = {
                { { 0, 0, 0, 0 }, "unknown frame type 0" },
                { { _FRAME_TYPE_N, 0, 0, 0 }, "unknown frame type 7" },
                { { UINT32_MAX, 0, 0, 0 }, "unknown frame type 4294967295" },
                { { FRAME_DATA, 8192, 0, 0 }, "a frame of CPU 8192" },
                { { FRAME_DATA, UINT32_MAX, 0, 0 }, "a frame of CPU 4294967295" },
                { { FRAME_DATA, 0, FRAME_SIZE_MAX + 1, 0 }, "a frame of 67108865 bytes" },
                { { FRAME_METADATA, 0, UINT64_MAX, 0 }, "a frame of 18446744073709551615 bytes" },
                { { FRAME_METADATA, 1, 0, 0 }, "a CPU or a loss in a frame of type 1" },
                { { FRAME_END, 0, 0, 1 }, "a CPU or a loss in a frame of type 5" },
        };

        Reason reason;

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                g_assert_cmpint(decode(good[i], &reason), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_assert_cmpint(decode(bad[i].header, &reason), ==, KT_E_INVALID_SPEC);
                g_assert_nonnull(strstr(reason.text, bad[i].text));
        }
}

static int decode_packed(PackedHeader header, uint64_t payload_size, Reason *reason) {
        uint8_t bytes[sizeof(PackedHeader)];
        PackedHeader again;

        packed_header_encode(bytes, &header);
        int r = packed_header_decode(bytes, payload_size, &again, reason);
        if (r == 0)
                g_assert_cmpmem(&again, sizeof(again), &header, sizeof(header));
        return r;
}

static void test_packed_header(void) {
        static const struct {
                PackedHeader header;
                uint64_t payload_size;
                const char *text;
        } bad[] = {
                { { 1, 2, 0, 4096 }, 24, "a packed frame of 24 bytes" },
                { { 1, 2, 9, 4096 }, 34, "with 10 bytes of data says it has 9" },
                { { 1, 2, UINT32_MAX, 4096 }, 34, "says it has 4294967295" },
                { { 1, 2, 10, 0 }, 34, "of 0 bytes after unpacking" },
                { { 1, 2, 10, PACKED_DATA_MAX + 1 }, 34, "of 1048577 bytes after unpacking" },
        };

        Reason reason;

        g_assert_cmpint(decode_packed((PackedHeader){ 1, 2, 1, 4096 }, 25, &reason), ==, 0);
        g_assert_cmpint(decode_packed((PackedHeader){ UINT64_MAX, UINT64_MAX, 10, PACKED_DATA_MAX },
                                        34,
                                        &reason),
                        ==,
                        0);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_assert_cmpint(decode_packed(bad[i].header, bad[i].payload_size, &reason),
                                ==,
                                KT_E_INVALID_SPEC);
                g_assert_nonnull(strstr(reason.text, bad[i].text));
        }
}

static void test_any_bytes(void) {
        unsigned n_good = 0;

        for (unsigned i = 0; i < 100000; i++) {
                uint8_t bytes[sizeof(FrameHeader)];
                FrameHeader header = { .type = UINT32_MAX };
                Reason reason;

                /* Mostly small numbers: else every one would fall at the type. */
                for (size_t k = 0; k < sizeof(bytes); k++)
                        bytes[k] = g_test_rand_int_range(0, 4)
                                                   ? 0
                                                   : (uint8_t)g_test_rand_int_range(0, 256);
                bytes[0] = (uint8_t)g_test_rand_int_range(0, 8);
                stream_header_decode(bytes, sizeof(bytes), &reason);
                if (frame_header_decode(bytes, &header, &reason) != 0) {
                        g_assert_cmpuint(header.type, ==, UINT32_MAX);
                        continue;
                }
                n_good++;
                g_assert_cmpuint(header.type, >=, FRAME_METADATA);
                g_assert_cmpuint(header.type, <, _FRAME_TYPE_N);
                g_assert_cmpuint(header.cpu, <, 8192);
                g_assert_cmpuint(header.size, <=, FRAME_SIZE_MAX);
        }
        g_assert_cmpuint(n_good, >, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/frame/stream-header", test_stream_header);
        g_test_add_func("/frame/stream-header-refused", test_stream_header_refused);
        g_test_add_func("/frame/frame-header", test_frame_header);
        g_test_add_func("/frame/frame-header-bounds", test_frame_header_bounds);
        g_test_add_func("/frame/any-bytes", test_any_bytes);
        g_test_add_func("/frame/packed-header", test_packed_header);
        return g_test_run();
}
