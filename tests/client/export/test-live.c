/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "stream-fixture.h"

#include "export/export-live.h"

typedef struct Live {
        LiveExport *live;
        FILE *out;
        char *text;
        size_t size;
} Live;

static void live_open(Live *live, ExportFormat format) {
        live->out = open_memstream(&live->text, &live->size);
        g_assert_cmpint(live_export_new(format, live->out, &live->live), ==, 0);
}

static void live_close(Live *live) {
        live_export_free(live->live);
        fclose(live->out);
        free(live->text);
}

static void feed(Live *live, const GByteArray *stream) {
        Reason reason = { 0 };

        g_assert_cmpint(live_export_feed(live->live, stream->data, stream->len, &reason), ==, 0);
        fflush(live->out);
}

static void feed_page(Live *live, uint32_t cpu, const Page *page) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();

        stream_add_page(bytes, cpu, 0, page);
        feed(live, bytes);
}

static void feed_hello(Live *live, uint32_t cpu, uint64_t ts, int number) {
        Page page;

        page_init(&page, ts);
        page_add_hello(&page, ts, 41, number, "x");
        feed_page(live, cpu, &page);
}

static void feed_head(Live *live, unsigned n_cpus) {
        g_autoptr(GByteArray) stream = stream_new();

        stream_add_metadata(stream, n_cpus);
        feed(live, stream);
}

static unsigned count(const Live *live, const char *what) {
        unsigned n = 0;

        for (const char *p = live->text; (p = strstr(p, what)); p++)
                n++;
        return n;
}

/* The sample, with all names up front: live there is no other time for them. */
static GByteArray *sample_new(void) {
        g_autoptr(GByteArray) sample = stream_new_sample();
        GByteArray *stream = stream_new();
        size_t head = stream->len;

        stream_add_metadata(stream, 2);
        stream_add_json(stream, FRAME_COMMANDS, "{\"42\":\"second\"}");
        head += stream->len - head - sizeof(FrameHeader) - strlen("{\"42\":\"second\"}");
        return g_byte_array_append(stream, sample->data + head, (guint)(sample->len - head));
}

/* Byte by byte it says what it says of the whole. */
static void test_bytes(void) {
        static const ExportFormat formats[] = { EXPORT_TEXT, EXPORT_JSON, EXPORT_KTS };
        g_autoptr(GByteArray) stream = sample_new();

        for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
                g_autofree char *whole = NULL;
                ExportSummary summary;
                Reason reason = { 0 };
                Live live;
                size_t size;
                int r;

                r = export_bytes(stream->data,
                                stream->len,
                                formats[i],
                                &whole,
                                &size,
                                &summary,
                                &reason);
                g_assert_cmpint(r, ==, 0);
                live_open(&live, formats[i]);
                for (size_t k = 0; k < stream->len; k++)
                        g_assert_cmpint(live_export_feed(live.live, stream->data + k, 1, &reason),
                                        ==,
                                        0);
                g_assert_cmpint(live_export_finish(live.live, &summary, &reason), ==, 0);
                g_assert_cmpstr(live.text, ==, whole);
                g_assert_cmpmem(live.text, live.size, whole, size);
                g_assert_cmpuint(summary.n_events, ==, 4);
                g_assert_true(summary.complete);
                g_assert_cmpstr(summary.end_code, ==, "stopped");
                g_assert_cmpstr(summary.missing, ==, "");
                live_close(&live);
        }
}

static void test_order(void) {
        Live live;

        live_open(&live, EXPORT_TEXT);
        feed_head(&live, 2);
        feed_hello(&live, 0, FIXTURE_TS + 2000000, 2);
        /* CPU 1 was not heard of yet. */
        g_assert_cmpuint(count(&live, "hello:"), ==, 0);
        feed_hello(&live, 1, FIXTURE_TS + 1000000, 1);
        g_assert_cmpuint(count(&live, "hello:"), ==, 1);
        feed_hello(&live, 1, FIXTURE_TS + 3000000, 3);
        g_assert_cmpuint(count(&live, "hello:"), ==, 2);
        g_assert_true(strstr(live.text, "number=1 ") < strstr(live.text, "number=2 "));
        g_assert_cmpint(live_export_flush(live.live), ==, 0);
        g_assert_cmpuint(count(&live, "number=3 "), ==, 1);
        g_assert_cmpuint(count(&live, "LATE"), ==, 0);
        live_close(&live);
}

/* A CPU that says nothing holds nobody back for long. */
static void test_silent_cpu(void) {
        Live live;

        live_open(&live, EXPORT_TEXT);
        feed_head(&live, 2);
        feed_hello(&live, 0, FIXTURE_TS, 1);
        feed_hello(&live, 0, FIXTURE_TS + 149000000, 2);
        g_assert_cmpuint(count(&live, "hello:"), ==, 0);
        feed_hello(&live, 0, FIXTURE_TS + 151000000, 3);
        g_assert_cmpuint(count(&live, "hello:"), ==, 1);
        live_close(&live);
}

static void test_late(void) {
        Live live;

        live_open(&live, EXPORT_TEXT);
        feed_head(&live, 2);
        feed_hello(&live, 0, FIXTURE_TS + 2000000, 2);
        g_assert_cmpint(live_export_flush(live.live), ==, 0);
        feed_hello(&live, 1, FIXTURE_TS + 1000000, 1);
        g_assert_cmpint(live_export_flush(live.live), ==, 0);
        g_assert_nonnull(strstr(live.text, "number=2 "));
        g_assert_nonnull(strstr(live.text, "\nCPU:1 [EVENTS THAT CAME LATE]\n"));
        g_assert_nonnull(strstr(live.text, "number=1 "));
        live_close(&live);
}

static void test_loss(void) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        uint64_t n_events, n_lost;
        Live live;
        Page page;

        live_open(&live, EXPORT_TEXT);
        feed_head(&live, 2);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 1, "x");
        stream_add_page(bytes, 0, 12, &page);
        stream_add_frame(bytes, FRAME_DATA, 1, 5, "", 0);
        feed(&live, bytes);
        live_export_count(live.live, &n_events, &n_lost);
        g_assert_cmpuint(n_events, ==, 1);
        g_assert_cmpuint(n_lost, ==, 17);
        g_assert_cmpint(live_export_flush(live.live), ==, 0);
        g_assert_nonnull(strstr(live.text, "CPU:0 [12 EVENTS DROPPED]\n           first-41 "));
        g_assert_nonnull(strstr(live.text, "CPU:1 [5 EVENTS DROPPED]\n"));
        live_close(&live);
}

static void test_cut(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();

        for (size_t size = 0; size < stream->len; size++) {
                ExportSummary summary = { 0 };
                Reason reason = { 0 };
                Live live;

                live_open(&live, EXPORT_JSON);
                g_assert_cmpint(live_export_feed(live.live, stream->data, size, &reason), ==, 0);
                g_assert_cmpint(live_export_finish(live.live, &summary, &reason), ==, 0);
                g_assert_false(summary.complete);
                g_assert_nonnull(strstr(summary.missing, "no end frame"));
                live_close(&live);
        }
}

static void test_damaged(void) {
        g_autoptr(GByteArray) stream = stream_new();
        ExportSummary summary = { 0 };
        Reason reason = { 0 };
        Live live;

        stream_add_metadata(stream, 1);
        stream_add_frame(stream, 99, 0, 0, "x", 1);
        live_open(&live, EXPORT_TEXT);
        g_assert_cmpint(live_export_feed(live.live, stream->data, stream->len, &reason), >, 0);
        g_assert_nonnull(strstr(reason.text, "frame type 99"));
        g_assert_cmpint(live_export_feed(live.live, stream->data, stream->len, &reason), >, 0);
        g_assert_cmpint(live_export_finish(live.live, &summary, &reason), ==, 0);
        g_assert_false(summary.complete);
        live_close(&live);
}

static void test_dat(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ExportSummary summary = { 0 };
        Reason reason = { 0 };
        LiveExport *live;
        char head[10];
        FILE *out = tmpfile();

        g_assert_cmpint(live_export_new(EXPORT_DAT, out, &live), ==, 0);
        g_assert_cmpint(live_export_feed(live, stream->data, stream->len, &reason), ==, 0);
        g_assert_cmpint(live_export_finish(live, &summary, &reason), ==, 0);
        g_assert_cmpuint(summary.n_events, ==, 4);
        rewind(out);
        g_assert_cmpuint(fread(head, 1, sizeof(head), out), ==, sizeof(head));
        g_assert_cmpmem(head, sizeof(head), "\x17\x08\x44tracing", 10);
        live_export_free(live);
        fclose(out);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/live/bytes", test_bytes);
        g_test_add_func("/live/order", test_order);
        g_test_add_func("/live/silent-cpu", test_silent_cpu);
        g_test_add_func("/live/late", test_late);
        g_test_add_func("/live/loss", test_loss);
        g_test_add_func("/live/cut", test_cut);
        g_test_add_func("/live/damaged", test_damaged);
        g_test_add_func("/live/dat", test_dat);
        return g_test_run();
}
