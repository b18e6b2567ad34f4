/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streams and trace.dat files with seeded damage, in every format: whatever comes, there is an
 * answer, one line if it is an error, and no memory error (this is worth most in the ASan build).
 */

#include <string.h>

#include "timeline-stream.h"

/* libtraceevent forgets memory when it gives up on a format: not ours to count. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void) {
        return "leak:libtraceevent";
}

static void damage(GRand *rand, uint8_t *data, size_t size) {
        static const uint8_t bytes[] = {
                0, 1, 0x7f, 0x80, 0xff, '(', '"', '\\', '0', '9', ' ', '\n'
        };
        int n = g_rand_int_range(rand, 1, 8);

        for (int i = 0; i < n; i++) {
                size_t at = (size_t)g_rand_int_range(rand, 8, (gint32)size);
                size_t length = (size_t)g_rand_int_range(rand, 1, 9);

                for (size_t k = at; k < size && k < at + length; k++)
                        data[k] = g_rand_boolean(rand)
                                                  ? bytes[g_rand_int_range(rand, 0, sizeof(bytes))]
                                                  : (uint8_t)g_rand_int(rand);
        }
}

static void check(const uint8_t *data, size_t size, ExportFormat format) {
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        int r = export_bytes(data, size, format, &text, NULL, &summary, &reason);

        if (r > 0) {
                g_assert_cmpstr(reason.text, !=, "");
                g_assert_null(strchr(reason.text, '\n'));
        } else
                g_assert_cmpint(r, ==, 0);
}

static void run(const GByteArray *sample, unsigned rounds, guint32 seed) {
        GRand *rand = g_rand_new_with_seed(seed);
        uint8_t *data = g_malloc(sample->len);

        for (unsigned round = 0; round < rounds; round++) {
                ExportFormat format = (ExportFormat)g_rand_int_range(rand, 0, _EXPORT_FORMAT_N);

                memcpy(data, sample->data, sample->len);
                damage(rand, data, sample->len);
                check(data, sample->len, format);
        }
        g_free(data);
        g_rand_free(rand);
}

static void test_stream(void) {
        g_autoptr(GByteArray) sample = stream_new_sample();

        run(sample, 3000, 7);
}

/* Threads, switches with stacks, and calls, which the views of a trace follow. */
static GByteArray *stream_new_timeline(void) {
        static const uint64_t stack[] = { 0xa3, 0xa2, 0xa1 };
        GByteArray *stream = stream_new();

        timeline_add_metadata(stream, 2);
        for (unsigned cpu = 0; cpu < 2; cpu++) {
                uint64_t ts = FIXTURE_TS + cpu;
                int tid = 41 + (int)cpu;
                Page page;

                page_init(&page, ts);
                for (int i = 0; i < 4; i++, ts += 5000) {
                        timeline_add_switch(&page, ts, 0, tid, 0, "one");
                        timeline_add_entry(&page, ts + 1000, tid, i);
                        timeline_add_mark(&page, ts + 1500, tid, "mark");
                        timeline_add_exit(&page, ts + 2000, tid, i, -i);
                        timeline_add_switch(&page, ts + 3000, tid, 0, 1, "swapper");
                        timeline_add_stack(&page, ts + 3001, tid, 3, stack);
                }
                stream_add_page(stream, cpu, cpu, &page);
        }
        stream_add_end(stream);
        return stream;
}

static void test_timeline(void) {
        g_autoptr(GByteArray) sample = stream_new_timeline();

        run(sample, 3000, 11);
}

static void test_dat(void) {
        g_autoptr(GByteArray) sample = stream_new_sample(), copy = g_byte_array_new();
        g_autofree char *dat = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        size_t size;

        g_assert_cmpint(export_bytes(sample->data,
                                        sample->len,
                                        EXPORT_DAT,
                                        &dat,
                                        &size,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_byte_array_append(copy, (uint8_t *)dat, (guint)size);
        run(copy, 2000, 8);
        /* Its head is where lengths stand. */
        g_byte_array_set_size(copy, 2000);
        run(copy, 2000, 9);
}

/* Only the formats: they meet libtraceevent's parser and then its printer. */
static void test_formats(void) {
        g_autoptr(GByteArray) sample = stream_new_sample();
        GRand *rand = g_rand_new_with_seed(10);
        const char *print = memmem(sample->data, sample->len, "number=%d", 9);
        size_t at = (size_t)((const uint8_t *)print - sample->data) - 600;
        uint8_t *data = g_malloc(sample->len);

        for (unsigned round = 0; round < 3000; round++) {
                memcpy(data, sample->data, sample->len);
                for (int i = g_rand_int_range(rand, 1, 4); i > 0; i--)
                        data[at + (size_t)g_rand_int_range(rand, 0, 1300)] =
                                        (uint8_t) "0123456789(){}[]%*/&|!~?:;, ->\tREC_getstrnamelocrel"
                                                        [g_rand_int_range(rand, 0, 50)];
                check(data, sample->len, EXPORT_TEXT);
        }
        g_free(data);
        g_rand_free(rand);
}

/* Sizes that nobody has memory for. */
static void test_absurd(void) {
        g_autoptr(GByteArray) stream = stream_new();
        FrameHeader header = { .type = FRAME_DATA, .cpu = 0, .size = FRAME_SIZE_MAX };
        uint8_t bytes[sizeof(header)];
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };

        stream_add_metadata(stream, 1);
        frame_header_encode(bytes, &header);
        g_byte_array_append(stream, bytes, sizeof(bytes));
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(summary.missing, "in a data frame"));
        memset(stream->data + stream->len - 16, 0xff, 8);
        g_free(g_steal_pointer(&text));
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(summary.missing, "damaged"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/noise/absurd", test_absurd);
        g_test_add_func("/noise/stream", test_stream);
        g_test_add_func("/noise/timeline", test_timeline);
        g_test_add_func("/noise/dat", test_dat);
        g_test_add_func("/noise/formats", test_formats);
        return g_test_run();
}
