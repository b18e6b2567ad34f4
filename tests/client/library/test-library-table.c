/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables of the library: each value of each record is in its row and column. */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "interfaces/ktrace.h"

static ktrace_reader *open_stream(const GByteArray *stream) {
        int fd = memfd_create("t", MFD_CLOEXEC);
        ktrace_reader *reader;

        g_assert_cmpint(write(fd, stream->data, stream->len), ==, (ssize_t)stream->len);
        g_assert_cmpint(ktrace_reader_open_fd(fd, &reader, NULL), ==, 0);
        close(fd);
        return reader;
}

/* The stream arrives through a pipe, which has room for it. */
static ktrace_reader *open_pipe(const GByteArray *stream) {
        ktrace_reader *reader;
        int ends[2];

        g_assert_no_errno(pipe(ends));
        g_assert_cmpint(write(ends[1], stream->data, stream->len), ==, (ssize_t)stream->len);
        close(ends[1]);
        g_assert_cmpint(ktrace_reader_open_fd(ends[0], &reader, NULL), ==, 0);
        close(ends[0]);
        return reader;
}

static ktrace_table *read_table(ktrace_reader *reader, const char *event, size_t max) {
        ktrace_table *table = NULL;
        ktrace_error error;

        int r = ktrace_reader_read_table(reader, event, max, &table, &error);
        g_assert_cmpstr(error.text, ==, "");
        g_assert_cmpint(r, ==, table != NULL);
        return table;
}

static size_t find_column(const ktrace_table *table, const char *name) {
        size_t i = 0;

        while (g_strcmp0(ktrace_table_get_name(table, i), name) != 0)
                g_assert_cmpuint(++i, <, ktrace_table_count_columns(table));
        return i;
}

static int64_t get_number(const ktrace_table *table, const char *column, size_t row) {
        size_t i = find_column(table, column);

        g_assert_null(ktrace_table_get_codes(table, i));
        return (int64_t)ktrace_table_get_numbers(table, i)[row];
}

static void assert_text(const ktrace_table *table,
                const char *column,
                size_t row,
                const char *expected) {
        size_t size, i = find_column(table, column);

        g_assert_null(ktrace_table_get_numbers(table, i));
        const void *text = ktrace_table_get_value(
                        table, i, ktrace_table_get_codes(table, i)[row], &size);
        g_assert_cmpmem(text, size, expected, strlen(expected));
}

static void test_event(gconstpointer is_stream) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ktrace_reader *reader = is_stream ? open_pipe(stream) : open_stream(stream);
        ktrace_table *table = read_table(reader, "test:hello", SIZE_MAX);
        static const char *const texts[] = { "one", "two", "three" };
        size_t size;

        g_assert_cmpuint(ktrace_table_count_rows(table), ==, 3);
        g_assert_cmpuint(ktrace_table_count_columns(table), ==, 9);
        g_assert_null(ktrace_table_get_name(table, 9));
        g_assert_cmpuint(ktrace_table_get_lost(table), ==, 0);
        g_assert_cmpuint(ktrace_table_get_damaged(table), ==, 0);
        for (size_t i = 0; i < 3; i++) {
                g_assert_cmpint(get_number(table, "time", i), ==, FIXTURE_TS + (i + 1) * 1000);
                g_assert_cmpint(get_number(table, "cpu", i), ==, i == 1);
                g_assert_cmpint(get_number(table, "tid", i), ==, i == 1 ? 42 : 41);
                g_assert_cmpint(get_number(table, "number", i), ==, i == 2 ? -3 : (int64_t)i + 1);
                assert_text(table, "name", i, "somebody");
                assert_text(table, "text", i, texts[i]);
        }
        assert_text(table, "task", 0, "first");
        g_assert_cmpint(ktrace_table_get_kind(table, find_column(table, "number")),
                        ==,
                        KTRACE_SIGNED);
        g_assert_cmpint(ktrace_table_get_kind(table, find_column(table, "args")), ==, KTRACE_ARRAY);
        g_assert_cmpuint(ktrace_table_count_values(table, find_column(table, "name")), ==, 1);
        g_assert_null(ktrace_table_get_value(table, find_column(table, "name"), 1, &size));
        (void)ktrace_table_get_value(table, find_column(table, "args"), 0, &size);
        g_assert_cmpuint(size, ==, 16);
        const ktrace_field *args = ktrace_table_get_field(table, find_column(table, "args"));
        g_assert_cmpuint(ktrace_field_get_element_size(args), ==, 8);
        g_assert_false(ktrace_field_is_signed(args));
        const ktrace_field *number = ktrace_table_get_field(table, find_column(table, "number"));
        g_assert_cmpuint(ktrace_field_get_element_size(number), ==, 0);
        g_assert_true(ktrace_field_is_signed(number));
        g_assert_null(ktrace_table_get_field(table, find_column(table, "time")));
        ktrace_table_free(table);
        g_assert_null(read_table(reader, "test:hello", SIZE_MAX));
        ktrace_reader_free(reader);
}

static void test_all_events(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ktrace_reader *reader = open_stream(stream);
        ktrace_table *table = read_table(reader, NULL, 3);

        g_assert_cmpuint(ktrace_table_count_rows(table), ==, 3);
        g_assert_cmpuint(ktrace_table_count_columns(table), ==, 5);
        assert_text(table, "event", 2, "test:hello");
        ktrace_table_free(table);
        table = read_table(reader, NULL, 3);
        g_assert_cmpuint(ktrace_table_count_rows(table), ==, 1);
        assert_text(table, "event", 0, "test:bytes");
        ktrace_table_free(table);
        ktrace_reader_free(reader);
}

/* More rows and different values than any array has room for at first. */
static void test_many(void) {
        g_autoptr(GByteArray) stream = stream_new();
        const unsigned n = 5000;

        stream_add_metadata(stream, 1);
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *text = g_strdup_printf("text %u", i / 2);
                Page page;

                page_init(&page, FIXTURE_TS + i);
                page_add_hello(&page, FIXTURE_TS + i, 41, (int)i, text);
                stream_add_page(stream, 0, 0, &page);
        }
        stream_add_end(stream);
        ktrace_reader *reader = open_stream(stream);
        ktrace_table *table = read_table(reader, "test:hello", SIZE_MAX);
        g_assert_cmpuint(ktrace_table_count_rows(table), ==, n);
        g_assert_cmpuint(ktrace_table_count_values(table, find_column(table, "text")), ==, n / 2);
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *text = g_strdup_printf("text %u", i / 2);

                g_assert_cmpint(get_number(table, "number", i), ==, i);
                assert_text(table, "text", i, text);
        }
        ktrace_table_free(table);
        ktrace_reader_free(reader);
}

static void test_lost_and_damaged(void) {
        g_autoptr(GByteArray) stream = stream_new();
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add(&page, FIXTURE_TS, "\x0a\0\0\0\x29\0\0\0\x01\0\0\0", 12); /* test:hello, cut */
        page_add_hello(&page, FIXTURE_TS + 1, 41, 1, "one");
        stream_add_page(stream, 0, 12, &page);
        page_init(&page, FIXTURE_TS + 1000);
        page_add_hello(&page, FIXTURE_TS + 1000, 41, 2, "two");
        page_set_missed(&page, 0);
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        ktrace_reader *reader = open_stream(stream);
        ktrace_table *table = read_table(reader, "test:hello", SIZE_MAX);
        g_assert_cmpuint(ktrace_table_count_rows(table), ==, 2);
        g_assert_cmpuint(ktrace_table_get_lost(table), ==, 13);
        g_assert_cmpuint(ktrace_table_get_damaged(table), ==, 1);
        ktrace_table_free(table);
        ktrace_reader_free(reader);
}

static void test_refused(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ktrace_reader *reader = open_stream(stream);
        ktrace_table *table = (ktrace_table *)&table;
        ktrace_error error;

        g_assert_cmpint(ktrace_reader_read_table(reader, "test:no", 1, &table, &error),
                        ==,
                        -ENOENT);
        g_assert_null(table);
        g_assert_cmpstr(error.name, ==, "org.ktrace1.Error.NoSuchEvent");
        g_assert_cmpstr(error.text, ==, "the trace has no event test:no");
        g_assert_cmpint(ktrace_reader_read_table(reader, "no", 1, &table, &error), ==, -ENOENT);
        g_assert_cmpstr(error.text, ==, "the trace has no event no: expected SYSTEM:NAME");
        table = read_table(reader, "test:bytes", 1);
        g_assert_cmpuint(ktrace_table_count_rows(table), ==, 1);
        ktrace_table_free(table);
        ktrace_table_free(NULL);
        ktrace_reader_free(reader);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/table/event/file", NULL, test_event);
        g_test_add_data_func("/table/event/stream", "", test_event);
        g_test_add_func("/table/all-events", test_all_events);
        g_test_add_func("/table/many", test_many);
        g_test_add_func("/table/lost-and-damaged", test_lost_and_damaged);
        g_test_add_func("/table/refused", test_refused);
        return g_test_run();
}
