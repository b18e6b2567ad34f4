/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files printed by several threads: the output, the counts and the failures are those of one. */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "trace/selection.h"

#define SWITCH_ID 12
#define SLOW_ID   13
#define LONG_ID   14
#define N_CPUS    3

/* The plugin of libtraceevent stores the names of tasks that it prints, for later lines. */
static const char switch_format[] =
                "name: sched_switch\nID: 12\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
                "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
                "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
                "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
                "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
                "print fmt: \"prev_comm=%s\", REC->prev_comm\n";

/* An event whose fields are a number and a text, with another print format. */
static char *format_new(int id, const char *print) {
        g_autofree char *head = g_strdup(fixture_bytes_format);
        g_autofree char *name = g_strdup_printf("name: event%d\nID: %d\n", id, id);

        *strstr(head, "print fmt:") = '\0';
        return g_strconcat(name, strstr(head, "format:"), "print fmt: ", print, "\n", NULL);
}

static void add_metadata(GByteArray *stream, const char *long_print) {
        g_autofree char *slow = format_new(SLOW_ID, "\"%+d\", REC->n");
        g_autofree char *long_one = format_new(LONG_ID, long_print);
        char *escaped[] = { g_strescape(switch_format, NULL),
                g_strescape(slow, NULL),
                g_strescape(long_one, NULL) };
        g_autofree char *events = g_strdup_printf(
                        "},{\"system\":\"sched\",\"name\":\"sched_switch\",\"format\":\"%s\"},"
                        "{\"system\":\"test\",\"name\":\"event13\",\"format\":\"%s\"},"
                        "{\"system\":\"test\",\"name\":\"event14\",\"format\":\"%s\"",
                        escaped[0],
                        escaped[1],
                        escaped[2]);

        stream_add_metadata_and(stream, N_CPUS, events, "");
        for (size_t i = 0; i < G_N_ELEMENTS(escaped); i++)
                g_free(escaped[i]);
}

static void put_number(uint8_t *record, size_t offset, int number) {
        memcpy(record + offset, &number, sizeof(number));
}

static void add_switch(Page *page, uint64_t ts, int pid, int next) {
        uint8_t record[64] = { SWITCH_ID };
        char name[16];

        put_number(record, 4, pid);
        put_number(record, 24, pid);
        put_number(record, 56, next);
        snprintf(name, sizeof(name), "task-%d", next % 1000000);
        memcpy(record + 40, name, sizeof(name));
        page_add(page, ts, record, sizeof(record));
}

/* A record of an event that format_new() has made; with another id it is unknown. */
static void add_other(Page *page, uint64_t ts, uint8_t id, int pid, const char *text) {
        size_t size = strlen(text) + 1;
        uint8_t record[3600] = { id };

        put_number(record, 4, pid);
        put_number(record, 8, (int)(ts % 977));
        put_number(record, 12, (int)(size << 16 | 16));
        memcpy(record + 16, text, size);
        page_add(page, ts, record, 16 + size);
}

/* Each kind of line: by a table, by libtraceevent, of an unknown event, of a damaged record. */
static void add_mixed(Page *page, uint64_t ts, unsigned i) {
        int pid = 100 + (int)(i / 7 % 500);

        switch (i % 7) {
        case 0:
                add_switch(page, ts, pid, pid + 3);
                break;
        case 1:
                add_other(page, ts, SLOW_ID, pid, "slow");
                break;
        case 2:
                if (i % 5 == 0)
                        add_other(page, ts, i % 2 ? 99 : FIXTURE_BYTES_ID, pid, "unknown");
                else
                        page_add_bytes(page, ts, pid, 3, "\1\2\xff", 3);
                break;
        case 3:
                page_add(page, ts, (uint8_t[]){ FIXTURE_HELLO_ID, 0, 0, 0, 9, 0, 0, 0 }, 8);
                break;
        default:
                page_add_hello(page, ts, pid, (int)i, i % 11 == 0 ? "a\033b" : "text");
        }
}

/* About 12000 lines, more than all batches of the threads have together. */
static GByteArray *stream_new_long(const char *print) {
        GByteArray *stream = stream_new();
        uint64_t ts = FIXTURE_TS;

        add_metadata(stream, print);
        for (unsigned n = 0; n < 400; n++) {
                Page page;

                page_init(&page, ts);
                for (unsigned i = 0; page_size(&page) < FIXTURE_SUBBUF_SIZE - 128; i++)
                        add_mixed(&page, ts + 1000 * (uint64_t)i + n % 3, n * 41 + i);
                stream_add_page(stream, n % N_CPUS, n % 50 == 9 ? n : 0, &page);
                ts += 20000;
        }
        stream_add_end(stream);
        return stream;
}

typedef struct Result {
        int code;
        char *text;
        size_t size;
        ExportSummary summary;
        Reason reason;
} Result;

static void result_get(const GByteArray *stream,
                const ExportSource *how,
                ExportFormat format,
                Result *ret) {
        int in = memfd_create("in", MFD_CLOEXEC), copy = memfd_create("out", MFD_CLOEXEC);
        ExportSource source = *how;
        FILE *out = fdopen(copy, "w");

        *ret = (Result){ 0 };
        source.fd = in;
        source.name = "t.kts";
        g_assert_cmpint(write(in, stream->data, stream->len), ==, (ssize_t)stream->len);
        ret->code = export_source(&source, format, out, &ret->summary, &ret->reason);
        fflush(out);
        ret->size = (size_t)lseek(copy, 0, SEEK_END);
        ret->text = g_malloc(ret->size + 1);
        g_assert_cmpint(pread(copy, ret->text, ret->size, 0), ==, (ssize_t)ret->size);
        fclose(out);
        close(in);
}

/* Returns the size of the text. */
static size_t assert_same(const GByteArray *stream, const ExportSource *how, ExportFormat format) {
        static const unsigned n_jobs[] = { 2, 3, 8, EXPORT_JOBS_MAX };
        ExportSource source = *how;
        Result one, many;

        source.n_jobs = 1;
        result_get(stream, &source, format, &one);
        for (size_t i = 0; i < G_N_ELEMENTS(n_jobs); i++) {
                source.n_jobs = n_jobs[i];
                result_get(stream, &source, format, &many);
                g_assert_cmpint(many.code, ==, one.code);
                g_assert_cmpstr(many.reason.text, ==, one.reason.text);
                g_assert_cmpuint(many.size, ==, one.size);
                g_assert_true(memcmp(many.text, one.text, one.size) == 0);
                g_assert_true(memcmp(&many.summary, &one.summary, sizeof(one.summary)) == 0);
                g_free(many.text);
        }
        g_free(one.text);
        return one.size;
}

static void test_same(void) {
        g_autoptr(GByteArray) stream = stream_new_long("\"%d\", REC->n");
        CpuList cpus = { { 5 } };
        Result result;

        for (ExportFormat format = EXPORT_TEXT; format <= EXPORT_TEXT_WALL; format++) {
                g_assert_cmpuint(assert_same(stream, &(ExportSource){}, format), >, 500000);
                assert_same(stream, &(ExportSource){ .is_raw = true }, format);
                assert_same(stream,
                                &(ExportSource){ .selection = &(Selection){ .cpus = &cpus } },
                                format);
        }
        result_get(stream, &(ExportSource){ .n_jobs = 3 }, EXPORT_TEXT, &result);
        g_assert_cmpuint(result.summary.n_events, >, 11000);
        g_assert_cmpuint(result.summary.n_lost, ==, 9 + 59 + 109 + 159 + 209 + 259 + 309 + 359);
        g_assert_cmpuint(result.summary.n_slow, >, 1000);
        g_assert_true(result.summary.complete);
        g_free(result.text);
}

/* Wherever the file ends, or a part of it is damaged, the lines before it are the same. */
static void test_damage(void) {
        g_autoptr(GByteArray) stream = stream_new_long("\"%d\", REC->n");
        g_autoptr(GByteArray) packed = stream_new_packed(stream);
        Result result;

        g_byte_array_set_size(stream, stream->len / 2);
        g_assert_cmpuint(assert_same(stream, &(ExportSource){}, EXPORT_TEXT), >, 100000);
        result_get(stream, &(ExportSource){ .n_jobs = 2 }, EXPORT_TEXT, &result);
        g_assert_false(result.summary.complete);
        g_free(result.text);

        memset(packed->data + packed->len / 2, 0xff, 100);
        g_assert_cmpuint(assert_same(packed, &(ExportSource){}, EXPORT_JSON), >, 100000);
        result_get(packed, &(ExportSource){ .n_jobs = 2 }, EXPORT_TEXT, &result);
        g_assert_cmpint(result.code, ==, KT_E_FAILED);
        g_free(result.text);
}

/* Lines of a hostile file: longer than a batch keeps, and longer than any line may be. */
static void test_long_lines(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autoptr(GString) print = g_string_new("\"");
        char text[3000];

        for (unsigned i = 0; i < 2500; i++)
                g_string_append(print, "%s");
        g_string_append_c(print, '"');
        for (unsigned i = 0; i < 2500; i++)
                g_string_append(print, ",__get_str(bytes)");
        memset(text, 1, sizeof(text)); /* which is printed as four characters */
        text[sizeof(text) - 1] = '\0';
        add_metadata(stream, print->str);
        for (unsigned i = 0; i < 40; i++) {
                Page page;

                page_init(&page, FIXTURE_TS + i);
                add_other(&page, FIXTURE_TS + i, LONG_ID, 41, i % 20 == 7 ? text : "middle");
                page_add_hello(&page, FIXTURE_TS + i, 41, (int)i, "short");
                stream_add_page(stream, i % N_CPUS, 0, &page);
        }
        stream_add_end(stream);
        g_assert_cmpuint(assert_same(stream, &(ExportSource){}, EXPORT_TEXT), >, 1000000);
        g_assert_cmpuint(assert_same(stream, &(ExportSource){ .is_raw = true }, EXPORT_TEXT),
                        >,
                        10000000);
}

/* An output that fails ends all threads. */
static void test_full(void) {
        g_autoptr(GByteArray) stream = stream_new_long("\"%d\", REC->n");

        for (unsigned n_jobs = 1; n_jobs < 10; n_jobs += 4) {
                int in = memfd_create("in", MFD_CLOEXEC);
                FILE *out = fopen("/dev/full", "w");
                ExportSource source = { .fd = in, .name = "t.kts", .n_jobs = n_jobs };
                ExportSummary summary;
                Reason reason;

                g_assert_cmpint(write(in, stream->data, stream->len), ==, (ssize_t)stream->len);
                g_assert_cmpint(export_source(&source, EXPORT_TEXT, out, &summary, &reason),
                                ==,
                                -ENOSPC);
                fclose(out);
                close(in);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/print-jobs/same", test_same);
        g_test_add_func("/print-jobs/damage", test_damage);
        g_test_add_func("/print-jobs/long-lines", test_long_lines);
        g_test_add_func("/print-jobs/full", test_full);
        return g_test_run();
}
