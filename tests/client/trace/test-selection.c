/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parts of recordings: what the options accept, and that a part is exactly the lines of the whole
 * that lie in it, although most of the file is not read. */

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "trace/selection.h"

#define N_PAGES 12
#define STEP    UINT64_C(1000)

/* Four records in each page, on two CPUs: all at different times, STEP apart. */
static GByteArray *stream_new_long(void) {
        GByteArray *stream = stream_new();

        stream_add_metadata(stream, 2);
        for (unsigned i = 0; i < N_PAGES; i++) {
                uint64_t ts = FIXTURE_TS + i / 2 * 8 * STEP + (i % 2) * STEP;
                Page page;

                page_init(&page, ts);
                for (unsigned k = 0; k < 4; k++, ts += 2 * STEP)
                        if (k == 3)
                                page_add_bytes(&page, ts, 43, 1, "x", 1);
                        else
                                page_add_hello(&page, ts, 41 + (int)k % 2, (int)i, "text");
                /* Lost events on CPU 0, and a frame that only reports some on CPU 1. */
                stream_add_page(stream, i % 2, i == 4 ? 7 : 0, &page);
                if (i == 5)
                        stream_add_frame(stream, FRAME_DATA, 1, 3, "", 0);
        }
        stream_add_json(stream, FRAME_COMMANDS, "{\"42\":\"second\",\"43\":\"third\"}");
        stream_add_end(stream);
        return stream;
}

static int export_part(const GByteArray *stream,
                const Selection *selection,
                ExportFormat format,
                char **ret_text,
                Reason *reason) {
        int fd = memfd_create("t", 0);
        ExportSource source = { .fd = fd, .name = "t.kts", .selection = selection };
        ExportSummary summary;
        size_t size;
        FILE *out = open_memstream(ret_text, &size);

        g_assert_cmpint(write(fd, stream->data, stream->len), ==, (ssize_t)stream->len);
        int r = export_source(&source, format, out, &summary, reason);
        fclose(out);
        close(fd);
        return r;
}

static void get_part(const GByteArray *stream, const Selection *selection, char **ret_text) {
        Reason reason = {};

        g_assert_cmpint(export_part(stream, selection, EXPORT_CSV, ret_text, &reason), ==, 0);
}

/* The lines of `all` with a time in [from, until), in seconds of the trace. */
static char *filter_lines(const char *all, uint64_t from, uint64_t until) {
        g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
        GString *kept = g_string_new(NULL);

        for (size_t i = 0; lines[i] && lines[i][0]; i++) {
                unsigned s, ns;
                uint64_t ts;

                if (i > 0) {
                        g_assert_cmpint(sscanf(lines[i], "%u.%9u", &s, &ns), ==, 2);
                        ts = s * UINT64_C(1000000000) + ns;
                        if (ts < from || ts >= until)
                                continue;
                }
                g_string_append_printf(kept, "%s\n", lines[i]);
        }
        return g_string_free(kept, FALSE);
}

static SelectionTime at_trace(uint64_t ns) {
        return (SelectionTime){ SELECTION_TIME_TRACE, ns };
}

/* Every pair of times, also between records and at them, packed and not. */
static void test_times(void) {
        g_autoptr(GByteArray) plain = stream_new_long(), packed = stream_new_packed(plain);
        g_autofree char *all = NULL;
        const uint64_t last = FIXTURE_TS + (N_PAGES * 4 - 1) * STEP;

        get_part(plain, &(Selection){}, &all);
        g_assert_nonnull(strstr(all, "[7 events lost]"));
        g_assert_nonnull(strstr(all, "[3 events lost]"));
        for (uint64_t from = FIXTURE_TS - STEP; from <= last; from += STEP / 2)
                for (uint64_t until = from + STEP; until <= last + 2 * STEP;
                                until += 5 * STEP / 2) {
                        Selection selection = { .from = at_trace(from), .until = at_trace(until) };
                        g_autofree char *expected = filter_lines(all, from, until);
                        g_autofree char *text = NULL, *of_packed = NULL;

                        if (until <= FIXTURE_TS)
                                continue;
                        get_part(plain, &selection, &text);
                        g_assert_cmpstr(text, ==, expected);
                        get_part(packed, &selection, &of_packed);
                        g_assert_cmpstr(of_packed, ==, expected);
                }
}

static void test_relative(void) {
        g_autoptr(GByteArray) stream = stream_new_long();
        const uint64_t last = FIXTURE_TS + (N_PAGES * 4 - 1) * STEP;

        const struct {
                Selection selection;
                uint64_t from, until;
        } cases[] = {
                { { .from = { SELECTION_TIME_RELATIVE, 5000 } }, FIXTURE_TS + 5000, UINT64_MAX },
                { { .until = { SELECTION_TIME_RELATIVE, 5000 } }, 0, FIXTURE_TS + 5000 },
                { { .last_ns = 5000 }, last - 5000, UINT64_MAX },
                /* The fixture's clock began at 22:13:20. */
                { { .from = { SELECTION_TIME_DAY, UINT64_C(80100000005000) } },
                                FIXTURE_TS + 5000,
                                UINT64_MAX },
                { { .from = { SELECTION_TIME_DATE, UINT64_C(1700000100000005000) } },
                                FIXTURE_TS + 5000,
                                UINT64_MAX },
        };

        g_autofree char *all = NULL;

        get_part(stream, &(Selection){}, &all);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *expected = filter_lines(all, cases[i].from, cases[i].until);
                g_autofree char *text = NULL;

                get_part(stream, &cases[i].selection, &text);
                g_assert_cmpstr(text, ==, expected);
        }
}

static void test_events_and_pids(void) {
        static const struct {
                Selection selection;
                const char *has, *has_not;
                unsigned n_lines;
        } cases[] = {
                { { .events = { "bytes" }, .n_events = 1 },
                                ",43,third,test:bytes,1,[120]\n",
                                "hello",
                                12 },
                { { .events = { "test:h*" }, .n_events = 1 },
                                "test:hello,0,somebody,text,",
                                "bytes,",
                                36 },
                { { .events = { "hello", "test:*" }, .n_events = 2 },
                                "test:bytes,n=1 ",
                                "test:bytes,1",
                                48 },
                { { .pids = { 42 }, .n_pids = 1 }, ",42,second,", ",41,", 12 },
                { { .pids = { 43, 42 }, .n_pids = 2 }, ",43,third,", ",41,", 24 },
        };

        g_autoptr(GByteArray) stream = stream_new_long();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = NULL;
                g_auto(GStrv) lines = NULL;

                get_part(stream, &cases[i].selection, &text);
                lines = g_strsplit(text, "\n", -1);
                g_assert_nonnull(strstr(text, cases[i].has));
                g_assert_null(strstr(text, cases[i].has_not));
                /* The heading, two losses, and what follows the last newline. */
                g_assert_cmpuint(g_strv_length(lines), ==, cases[i].n_lines + 4);
        }
}

static void test_refused(void) {
        static const CpuList cpu_5 = { { 1 << 5 } };

        static const struct {
                Selection selection;
                ExportFormat format;
                const char *reason;
        } cases[] = {
                { { .events = { "nosuch" }, .n_events = 1 },
                                EXPORT_TEXT,
                                "--event \"nosuch\": the recording has no" },
                { { .from = { SELECTION_TIME_RELATIVE, 1000000 } },
                                EXPORT_TEXT,
                                "is 0.000047 s long" },
                { { .until = { SELECTION_TIME_TRACE, 5 } }, EXPORT_TEXT, "no event lies between" },
                { { .from = { SELECTION_TIME_RELATIVE, 9 },
                                  .until = { SELECTION_TIME_RELATIVE, 9 } },
                                EXPORT_JSON,
                                "--from is not before --until" },
                { { .last_ns = 1 }, EXPORT_KTS, "kts has all events" },
                { { .pids = { 1 }, .n_pids = 1 }, EXPORT_DAT, "--pid are for text, json, " },
                { { .cpus = &cpu_5 }, EXPORT_CSV, "CPU" },
        };

        g_autoptr(GByteArray) stream = stream_new_long();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = NULL;
                Reason reason = {};

                g_assert_cmpint(export_part(stream,
                                                &cases[i].selection,
                                                cases[i].format,
                                                &text,
                                                &reason),
                                ==,
                                KT_E_INVALID_SPEC);
                g_assert_nonnull(strstr(reason.text, cases[i].reason));
        }
        /* A clock that does not count time. */
        memcpy(memmem(stream->data, stream->len, "\"clock\":\"mono\"", 14),
                        "\"clock\":\"tick\"",
                        14);
        g_autofree char *text = NULL;
        Reason reason = {};
        g_assert_cmpint(export_part(stream,
                                        &(Selection){ .last_ns = 1 },
                                        EXPORT_TEXT,
                                        &text,
                                        &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "clock (tick) does not count time"));
}

static void test_parse_time(void) {
        static const struct {
                const char *text;
                SelectionTimeKind kind;
                uint64_t ns;
                unsigned position;
        } cases[] = {
                { "0.5", SELECTION_TIME_RELATIVE, 500000000, 0 },
                { "10ms", SELECTION_TIME_RELATIVE, 10000000, 0 },
                { "1.25us", SELECTION_TIME_RELATIVE, 1250, 0 },
                { "3ns", SELECTION_TIME_RELATIVE, 3, 0 },
                { "2min", SELECTION_TIME_RELATIVE, UINT64_C(120000000000), 0 },
                { "1h", SELECTION_TIME_RELATIVE, UINT64_C(3600000000000), 0 },
                { "0", SELECTION_TIME_RELATIVE, 0, 0 },
                { "0.0000000019", SELECTION_TIME_RELATIVE, 1, 0 },
                { "@62754.052028607", SELECTION_TIME_TRACE, UINT64_C(62754052028607), 0 },
                { "00:00:01.5", SELECTION_TIME_DAY, UINT64_C(1500000000), 0 },
                { "23:59:59", SELECTION_TIME_DAY, UINT64_C(86399000000000), 0 },
                { "2023-11-14T22:15:00.000001000Z",
                                SELECTION_TIME_DATE,
                                UINT64_C(1700000100000001000),
                                0 },
                { "", 0, 0, 1 },
                { "-1", 0, 0, 1 },
                { "1x", 0, 0, 2 },
                { "1.", 0, 0, 2 },
                { "1.5 s", 0, 0, 4 },
                { "@1q", 0, 0, 3 },
                { "99999999999999999999", 0, 0, 1 },
                { "4000000000h", 0, 0, 1 },
                { "25:00:00", 0, 0, 1 },
                { "12:00:00+01", 0, 0, 1 },
                { "2999-01-01T00:00:00", 0, 0, 1 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *position = g_strdup_printf("position %u: ", cases[i].position);
                SelectionTime time = {};
                Reason reason = {};
                int r = selection_time_parse("--from", cases[i].text, &time, &reason);

                g_assert_cmpint(r, ==, cases[i].position == 0 ? 0 : KT_E_INVALID_SPEC);
                g_assert_cmpint(time.kind, ==, cases[i].kind);
                g_assert_cmpuint(time.ns, ==, cases[i].ns);
                if (r != 0)
                        g_assert_nonnull(strstr(reason.text, position));
        }
}

static void test_parse_pids(void) {
        Selection selection = {};
        Reason reason = {};

        g_assert_cmpint(selection_add_pids(&selection, "--pid", "1,20", &reason), ==, 0);
        g_assert_cmpint(selection_add_pids(&selection, "--pid", "300", &reason), ==, 0);
        g_assert_cmpuint(selection.n_pids, ==, 3);
        g_assert_cmpint(selection.pids[2], ==, 300);
        g_assert_cmpint(selection_add_pids(&selection, "--pid", "5,-1", &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "position 3"));
        g_assert_cmpint(selection_add_pids(&selection, "--pid", "5,", &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpint(selection_add_pids(&selection, "--pid", "4294967296", &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        while (selection.n_pids < SELECTION_PIDS_MAX)
                g_assert_cmpint(selection_add_pids(&selection, "--pid", "5", &reason), ==, 0);
        g_assert_cmpint(selection_add_pids(&selection, "--pid", "5", &reason),
                        ==,
                        KT_E_INVALID_SPEC);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/selection/times", test_times);
        g_test_add_func("/selection/relative", test_relative);
        g_test_add_func("/selection/events-and-pids", test_events_and_pids);
        g_test_add_func("/selection/refused", test_refused);
        g_test_add_func("/selection/parse-time", test_parse_time);
        g_test_add_func("/selection/parse-pids", test_parse_pids);
        return g_test_run();
}
