/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stacks as folded lines and for speedscope, with weights that are computed by hand. */

#include <json-c/json.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "timeline-stream.h"

#include "trace/selection.h"

#define TS FIXTURE_TS

static const uint64_t read_stack[] = { 0xa3, 0xa2, 0xa1 }, wait_stack[] = { 0xb2, 0xa1 };

/* Thread 41 is off for 10 us in the one stack, for 30 us in the other, then for 5 us in the first
 * one again, partly on another CPU. Thread 42 is off twice, but events are lost in one of the
 * times. The idle task is off often, and at the end 41 does not come back. */
static GByteArray *stream_new_switches(void) {
        GByteArray *stream = stream_new();
        Page page;

        timeline_add_metadata(stream, 2);
        page_init(&page, TS);
        timeline_add_switch(&page, TS, 41, 0, 1, "swapper");
        timeline_add_stack(&page, TS + 100, 41, 3, read_stack);
        timeline_add_switch(&page, TS + 10000, 0, 41, 0, "one");
        timeline_add_stack(&page, TS + 10100, 0, 2, wait_stack);
        timeline_add_switch(&page, TS + 20000, 41, 42, 1, "two");
        timeline_add_stack(&page, TS + 20100, 41, 2, wait_stack);
        timeline_add_switch(&page, TS + 60000, 42, 0, 1, "swapper");
        timeline_add_stack(&page, TS + 60100, 42, 3, read_stack);
        timeline_add_switch(&page, TS + 67000, 0, 42, 0, "two");
        timeline_add_switch(&page, TS + 70000, 42, 0, 1, "swapper");
        timeline_add_stack(&page, TS + 70100, 42, 3, read_stack);
        stream_add_page(stream, 0, 0, &page);
        page_init(&page, TS + 50000);
        timeline_add_switch(&page, TS + 50000, 0, 41, 0, "one");
        timeline_add_switch(&page, TS + 51000, 41, 0, 1, "swapper");
        timeline_add_stack(&page, TS + 51100, 41, 3, read_stack);
        timeline_add_switch(&page, TS + 56000, 0, 41, 0, "one");
        timeline_add_switch(&page, TS + 57000, 41, 0, 1, "swapper");
        timeline_add_stack(&page, TS + 57100, 41, 3, read_stack);
        stream_add_page(stream, 1, 0, &page);
        page_init(&page, TS + 90000);
        timeline_add_switch(&page, TS + 90000, 0, 42, 0, "two");
        stream_add_page(stream, 0, 3, &page);
        stream_add_end(stream);
        return stream;
}

static void test_off_cpu(void) {
        g_autoptr(GByteArray) stream = stream_new_switches();
        g_autofree char *text = NULL, *missing = timeline_convert(stream, EXPORT_FOLDED, &text);

        g_assert_cmpstr(text,
                        ==,
                        "one;0xa1;0xa2;0xa3 15\n"
                        "one;0xa1;0xb2 30\n"
                        "two;0xa1;0xa2;0xa3 7\n");
        g_assert_cmpstr(missing, ==, "");
}

/* The kernel has no such threads. */
static void test_damaged_threads(void) {
        static const int tids[] = { -2, 0, TID_MAX + 1, INT32_MAX };
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *missing = NULL;
        Page page;

        timeline_add_metadata(stream, 1);
        page_init(&page, TS);
        for (unsigned i = 0; i < G_N_ELEMENTS(tids); i++) {
                timeline_add_switch(&page, TS + i * 9000, tids[i], 41, 1, "one");
                timeline_add_stack(&page, TS + i * 9000 + 100, tids[i], 3, read_stack);
                timeline_add_switch(&page, TS + i * 9000 + 5000, 41, tids[i], 1, "bad");
        }
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        missing = timeline_convert(stream, EXPORT_FOLDED, &text);
        g_assert_cmpstr(text, ==, "");
}

static void test_speedscope_stacks(void) {
        g_autoptr(GByteArray) stream = stream_new_switches();
        g_autofree char *text = NULL, *missing = timeline_convert(stream, EXPORT_SPEEDSCOPE, &text);

        g_assert_cmpstr(text,
                        ==,
                        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                        "\"exporter\":\"ktracectl\",\"name\":\"t.kts\",\"profiles\":[\n"
                        "{\"type\":\"sampled\",\"name\":\"one (41)\",\"unit\":\"nanoseconds\","
                        "\"startValue\":0,\"endValue\":45000,\"samples\":[[0,1,2],[0,3]],"
                        "\"weights\":[15000,30000]},\n"
                        "{\"type\":\"sampled\",\"name\":\"two (42)\",\"unit\":\"nanoseconds\","
                        "\"startValue\":0,\"endValue\":7000,\"samples\":[[0,1,2]],\"weights\":[7000]}],\n"
                        "\"shared\":{\"frames\":[\n{\"name\":\"0xa1\"},\n{\"name\":\"0xa2\"},\n"
                        "{\"name\":\"0xa3\"},\n{\"name\":\"0xb2\"}]}}\n");
}

static void test_speedscope_calls(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *missing = NULL;
        Page page;

        timeline_add_metadata(stream, 1);
        page_init(&page, TS);
        timeline_add_entry(&page, TS + 1000, 41, 0);
        timeline_add_entry(&page, TS + 1500, 42, 1);
        timeline_add_exit(&page, TS + 3000, 41, 0, 8);
        timeline_add_exit(&page, TS + 3500, 42, 1, 8);
        timeline_add_entry(&page, TS + 4000, 41, 1);
        timeline_add_exit(&page, TS + 5000, 43, 7, 0); /* its entry is missing */
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        missing = timeline_convert(stream, EXPORT_SPEEDSCOPE, &text);
        g_assert_cmpstr(strchr(text, '\n') + 1,
                        ==,
                        "{\"type\":\"evented\",\"name\":\"one (41)\",\"unit\":\"nanoseconds\","
                        "\"startValue\":0,\"endValue\":4000,\"events\":["
                        "{\"type\":\"O\",\"at\":0,\"frame\":0},{\"type\":\"C\",\"at\":2000,\"frame\":0},"
                        "{\"type\":\"O\",\"at\":3000,\"frame\":1},{\"type\":\"C\",\"at\":4000,\"frame\":1}]},\n"
                        "{\"type\":\"evented\",\"name\":\"two (42)\",\"unit\":\"nanoseconds\","
                        "\"startValue\":0,\"endValue\":4000,\"events\":["
                        "{\"type\":\"O\",\"at\":500,\"frame\":1},{\"type\":\"C\",\"at\":2500,\"frame\":1}]}],\n"
                        "\"shared\":{\"frames\":[\n{\"name\":\"read\"},\n{\"name\":\"write\"}]}}\n");
}

/* In a damaged recording, the first record may not be the earliest. */
static void test_speedscope_time_back(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *missing = NULL;
        Page page;

        timeline_add_metadata(stream, 1);
        page_init(&page, TS);
        timeline_add_entry(&page, TS + 1000, 41, 0);
        timeline_add_mark(&page, TS + 3000, 41, "mark");
        stream_add_page(stream, 0, 0, &page);
        page_init(&page, TS - 50000);
        timeline_add_entry(&page, TS - 40000, 42, 1);
        timeline_add_exit(&page, TS - 30000, 42, 1, 8);
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        missing = timeline_convert(stream, EXPORT_SPEEDSCOPE, &text);
        g_assert_nonnull(strstr(text,
                        "\"endValue\":2000,\"events\":[{\"type\":\"O\",\"at\":0,\"frame\":1},"
                        "{\"type\":\"C\",\"at\":2000,\"frame\":1}]}"));
        g_assert_nonnull(strstr(text,
                        "\"endValue\":2000,\"events\":[{\"type\":\"O\",\"at\":0,\"frame\":0},"
                        "{\"type\":\"C\",\"at\":0,\"frame\":0}]}"));
}

/* Without switches, stacks are samples. A semicolon in a name is not a frame. */
static void test_samples(void) {
        static const char *const names[][2] = { { "a;b", "a:b" },
                { "\\u001b[2J", "\\x1b[2J" },
                { "x\\ny", "x\\x0ay" },
                { "</script>", "</script>" } };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autoptr(GByteArray) stream = stream_new();
                g_autofree char *text = NULL, *missing = NULL, *scope = NULL;
                g_autofree char *commands = g_strdup_printf("{\"41\":\"%s\"}", names[i][0]);
                g_autofree char *expected = g_strdup_printf("%s;0xa1;0xa2;0xa3 2\n", names[i][1]);
                json_object *whole;
                char *at;
                Page page;

                timeline_add_metadata(stream, 1);
                /* Leave out the switch: give it another name. */
                at = memmem(stream->data, stream->len, "\"name\":\"sched_switch\"", 21);
                memcpy(at, "\"name\":\"sched_other!\"", 21);
                while ((at = memmem(stream->data, stream->len, "name: sched_switch", 18)))
                        memcpy(at, "name: sched_other!", 18);
                page_init(&page, TS);
                for (unsigned k = 0; k < 2; k++) {
                        timeline_add_mark(&page, TS + k * 1000, 41, "mark");
                        timeline_add_stack(&page, TS + k * 1000 + 1, 41, 3, read_stack);
                }
                /* Stacks without an event, of the same thread and of another one. */
                timeline_add_stack(&page, TS + 4000, 41, 2, wait_stack);
                timeline_add_stack(&page, TS + 5000, 42, 2, wait_stack);
                stream_add_page(stream, 0, 0, &page);
                stream_add_json(stream, FRAME_COMMANDS, commands);
                stream_add_end(stream);
                missing = timeline_convert(stream, EXPORT_FOLDED, &text);
                g_assert_cmpstr(text, ==, expected);
                g_free(missing);
                missing = timeline_convert(stream, EXPORT_SPEEDSCOPE, &scope);
                g_assert_nonnull(strstr(
                                scope, "\"unit\":\"none\",\"startValue\":0,\"endValue\":2,"));
                whole = json_tokener_parse(scope);
                g_assert_nonnull(whole);
                json_object_put(whole);
        }
}

/* A stack belongs to the event before it on its CPU. */
static void test_selected(void) {
        static const struct {
                const char *event;
                unsigned n_stacks;
        } cases[] = { { "print", 2 }, { "sys_*", 1 }, { "kernel_stack", 3 } };

        g_autoptr(GByteArray) stream = stream_new();
        Page page;

        timeline_add_metadata(stream, 1);
        page_init(&page, TS);
        timeline_add_mark(&page, TS, 41, "mark");
        timeline_add_stack(&page, TS + 1, 41, 3, read_stack);
        timeline_add_entry(&page, TS + 2, 41, 0);
        timeline_add_stack(&page, TS + 3, 41, 3, read_stack);
        timeline_add_mark(&page, TS + 4, 41, "mark");
        timeline_add_stack(&page, TS + 5, 41, 3, read_stack);
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                Selection selection = { .events = { cases[i].event }, .n_events = 1 };
                int fd = memfd_create("t", 0);
                g_autofree char *text = NULL;
                unsigned n = 0;
                ExportSummary summary;
                Reason reason = {};
                size_t size;
                FILE *out = open_memstream(&text, &size);

                g_assert_cmpint(write(fd, stream->data, stream->len), ==, (ssize_t)stream->len);
                g_assert_cmpint(export_source(&(ExportSource){ .fd = fd,
                                                              .name = "t.kts",
                                                              .selection = &selection },
                                                EXPORT_CSV,
                                                out,
                                                &summary,
                                                &reason),
                                ==,
                                0);
                fclose(out);
                close(fd);
                for (char *at = text; (at = strstr(at, ":kernel_stack,")); at++)
                        n++;
                g_assert_cmpuint(n, ==, cases[i].n_stacks);
        }
}

/* Damaged recordings give a reason or a result, and valid JSON if they give one. */
static void test_noise(void) {
        static const ExportFormat formats[] = {
                EXPORT_CHROME, EXPORT_CSV, EXPORT_FOLDED, EXPORT_SPEEDSCOPE
        };
        g_autoptr(GByteArray) stream = stream_new_switches();
        const uint8_t *first_page = memmem(stream->data, stream->len, &(uint64_t){ TS }, 8);
        guint start = (guint)(first_page - stream->data);
        g_autofree uint8_t *data = g_malloc(stream->len);
        GRand *rand = g_rand_new_with_seed(11);

        for (unsigned round = 0; round < 4000; round++) {
                ExportFormat format = formats[round % G_N_ELEMENTS(formats)];
                g_autofree char *text = NULL;
                ExportSummary summary;
                Reason reason = {};

                memcpy(data, stream->data, stream->len);
                for (int i = g_rand_int_range(rand, 1, 12); i > 0; i--)
                        data[g_rand_int_range(rand, (gint32)start, (gint32)stream->len)] =
                                        (uint8_t)g_rand_int(rand);
                int r = export_bytes(data, stream->len, format, &text, NULL, &summary, &reason);
                if (r != 0) {
                        g_assert_cmpstr(reason.text, !=, "");
                        continue;
                }
                g_assert_true(g_utf8_validate(text, -1, NULL));
                if (format == EXPORT_CHROME || format == EXPORT_SPEEDSCOPE) {
                        json_object *whole = json_tokener_parse(text);

                        g_assert_nonnull(whole);
                        json_object_put(whole);
                }
        }
        g_rand_free(rand);
}

static void test_none(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = {};

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_FOLDED,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "record with --stacktrace"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/stacks/off-cpu", test_off_cpu);
        g_test_add_func("/stacks/damaged-threads", test_damaged_threads);
        g_test_add_func("/stacks/speedscope-stacks", test_speedscope_stacks);
        g_test_add_func("/stacks/speedscope-calls", test_speedscope_calls);
        g_test_add_func("/stacks/speedscope-time-back", test_speedscope_time_back);
        g_test_add_func("/stacks/samples", test_samples);
        g_test_add_func("/stacks/selected", test_selected);
        g_test_add_func("/stacks/noise", test_noise);
        g_test_add_func("/stacks/none", test_none);
        return g_test_run();
}
