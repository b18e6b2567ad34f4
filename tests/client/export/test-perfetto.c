/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packets as bytes. tests/e2e/perfetto.sh lets protoc and Perfetto read real recordings. */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "trace/selection.h"

typedef struct Output {
        char *bytes;
        size_t size;
} Output;

static void output_clear(Output *output) {
        free(output->bytes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Output, output_clear)

static int convert(const GByteArray *stream, bool is_compatible, Output *ret, Reason *reason) {
        int fd = memfd_create("stream", MFD_CLOEXEC);
        FILE *out = open_memstream(&ret->bytes, &ret->size);
        ExportSummary summary;
        ExportSource source = { .fd = fd, .name = "stream", .is_compatible = is_compatible };

        g_assert_cmpint(write(fd, stream->data, stream->len), ==, stream->len);
        int r = export_source(&source, EXPORT_PERFETTO, out, &summary, reason);
        fclose(out);
        close(fd);
        return r;
}

static unsigned count_bytes(const Output *output, const char *bytes, size_t size) {
        const char *at = output->bytes, *end = at + output->size;
        unsigned n = 0;

        while ((at = memmem(at, (size_t)(end - at), bytes, size))) {
                at += size;
                n++;
        }
        return n;
}

#define COUNT(output, bytes) count_bytes(output, bytes, sizeof(bytes) - 1)

static void test_described(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_auto(Output) output = {};
        Reason reason = {};

        g_assert_cmpint(convert(stream, false, &output, &reason), ==, 0);
        g_assert_cmpuint((uint8_t)output.bytes[0], ==, 0x0a); /* Perfetto looks for it */
        g_assert_cmpuint(
                        COUNT(&output, "\x08\x01\x12\x08somebody\x1a\x03one\x22\x05[7,8]\x28\xcd\xd7\x02"),
                        ==,
                        1);
        /* Negative numbers are sign-extended. */
        g_assert_cmpuint(
                        COUNT(&output, "\x08\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x08somebody"),
                        ==,
                        1);
        /* One descriptor for each event: field_id, name, and the field "number", 1, int32. */
        g_assert_cmpuint(COUNT(&output, "\x08\x8a\x80\x04\x12"), ==, 1);
        g_assert_cmpuint(COUNT(&output, "\x08\x8b\x80\x04\x12"), ==, 1);
        g_assert_cmpuint(COUNT(&output, "\x0a\x05hello\x12\x0c\x0a\x06number\x18\x01\x28\x05"),
                        ==,
                        1);
        g_assert_cmpuint(COUNT(&output, "\x1a\x04test"), ==, 2);
}

static void test_compatible(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_auto(Output) output = {};
        Reason reason = {};

        g_assert_cmpint(convert(stream, true, &output, &reason), ==, 0);
        g_assert_cmpuint(COUNT(&output,
                                         "\x0a\x05hello\x12\x0a\x0a\x06number\x20\x01"
                                         "\x12\x10\x0a\x04name\x1a\x08somebody"),
                        ==,
                        1);
        g_assert_cmpuint(COUNT(&output, "\x0a\x05where\x28\xcd\xd7\x02"), ==, 3);
        g_assert_cmpuint(COUNT(&output, "\x08\x8a\x80\x04\x12"), ==, 0);
}

/* A loss ends a bundle; the next bundle of the CPU says it, and a slice shows it. */
static void test_loss(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_auto(Output) output = {};
        Reason reason = {};
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 1, "before");
        stream_add_page(stream, 0, 0, &page);
        page_init(&page, FIXTURE_TS + 1000);
        page_add_hello(&page, FIXTURE_TS + 1000, 41, 2, "after");
        stream_add_page(stream, 0, 7, &page);
        stream_add_end(stream);
        g_assert_cmpint(convert(stream, true, &output, &reason), ==, 0);
        const char *lost = memmem(output.bytes, output.size, "\x08\x00\x18\x01\x12", 5);
        g_assert_nonnull(lost);
        g_assert_null(memmem(lost, (size_t)(output.bytes + output.size - lost), "before", 6));
        g_assert_cmpuint(COUNT(&output, "\x08\x00\x12"), ==, 1); /* the bundle before has no loss */
        g_assert_cmpuint(COUNT(&output, "Lost events, CPU 0"), ==, 1);
        g_assert_cmpuint(COUNT(&output, "7 events lost"), ==, 1);
}

static void test_hostile(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_auto(Output) output = {};
        uint8_t unknown[12] = { 200 };
        Reason reason = {};
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add(&page, FIXTURE_TS, unknown, sizeof(unknown));
        page_add_hello(&page,
                        FIXTURE_TS,
                        41,
                        1,
                        "a\xff"
                        "b");
        page_add_bytes(&page, FIXTURE_TS, 41, 60000, "", 0);
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        g_assert_cmpint(convert(stream, false, &output, &reason), ==, 0);
        g_assert_cmpuint(COUNT(&output, "[unknown or damaged record]"), ==, 1);
        g_assert_cmpuint(COUNT(&output,
                                         "\x1a\x05"
                                         "a\xef\xbf\xbd"
                                         "b"),
                        ==,
                        1);
        g_assert_cmpuint(COUNT(&output, "\x08\xe0\xd4\x03\x12\x02[]"), ==, 1);
}

static void test_refused(void) {
        g_autoptr(GByteArray) stream = stream_new_sample(), other = stream_new();
        g_auto(Output) output = {}, output2 = {};
        Reason reason = {};
        Page page;
        char *clock = memmem(stream->data, stream->len, "\"clock\":\"mono\"", 14);

        g_assert_nonnull(clock);
        memcpy(clock, "\"clock\":\"tick\"", 14);
        g_assert_cmpint(convert(stream, false, &output, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "clock (tick) does not count nanoseconds"));

        stream_add_metadata(other, 2000);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 1, "a");
        stream_add_page(other, 1024, 0, &page);
        g_assert_cmpint(convert(other, false, &output2, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "records of CPU 1024"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/perfetto/described", test_described);
        g_test_add_func("/perfetto/compatible", test_compatible);
        g_test_add_func("/perfetto/loss", test_loss);
        g_test_add_func("/perfetto/hostile", test_hostile);
        g_test_add_func("/perfetto/refused", test_refused);
        return g_test_run();
}
