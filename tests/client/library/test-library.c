/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Readers of the library, on streams made by code: from a file and through a pipe. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "interfaces/ktrace.h"

#define REALTIME INT64_C(1700000000000000000)

static int make_file(const GByteArray *stream) {
        int fd = memfd_create("t", MFD_CLOEXEC);

        g_assert_cmpint(write(fd, stream->data, stream->len), ==, (ssize_t)stream->len);
        return fd;
}

/* The stream arrives in pieces of `piece` bytes, written by a child. */
static int make_pipe(const GByteArray *stream, size_t piece, pid_t *ret_child) {
        int ends[2];

        g_assert_no_errno(pipe2(ends, O_CLOEXEC));
        *ret_child = fork();
        if (*ret_child == 0) {
                for (size_t at = 0; at < stream->len; at += piece)
                        if (write(ends[1], stream->data + at, MIN(piece, stream->len - at)) < 0)
                                _exit(1);
                _exit(0);
        }
        close(ends[1]);
        return ends[0];
}

static ktrace_reader *open_reader(int fd) {
        ktrace_reader *reader = NULL;
        ktrace_error error;

        int r = ktrace_reader_open_fd(fd, &reader, &error);
        g_assert_cmpstr(error.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        close(fd);
        return reader;
}

static const ktrace_record *next_record(ktrace_reader *reader) {
        const ktrace_record *record = NULL;
        ktrace_error error;

        g_assert_cmpint(ktrace_reader_next(reader, UINT64_MAX, &record, &error), ==, 1);
        return record;
}

static void assert_at_end(ktrace_reader *reader) {
        const ktrace_record *record = NULL;
        g_autofree char *end = NULL;

        g_assert_cmpint(ktrace_reader_next(reader, UINT64_MAX, &record, NULL), ==, 0);
        g_assert_null(record);
        g_assert_cmpint(ktrace_reader_next(reader, UINT64_MAX, &record, NULL), ==, 0);
        g_assert_cmpint(ktrace_reader_get_end(reader, &end), ==, 0);
        g_assert_cmpstr(end, ==, "{\"code\":\"stopped\",\"reason\":\"by its owner\"}");
}

static uint64_t get_number(const ktrace_record *record, const char *name) {
        const ktrace_field *field = ktrace_record_find_field(record, name);
        uint64_t number = 0;

        g_assert_nonnull(field);
        g_assert_cmpint(ktrace_record_get_number(record, field, &number), ==, 0);
        return number;
}

/* The four events of stream_new_sample(). */
static void assert_sample(ktrace_reader *reader) {
        static const struct {
                int tid, number;
                unsigned cpu;
                const char *text;
        } events[] = {
                { 41, 1, 0, "number=1 name=somebody text=one" },
                { 42, 2, 1, "number=2 name=somebody text=two" },
                { 41, -3, 0, "number=-3 name=somebody text=three" },
                { 42, 3, 1, "01 02 ff" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(events); i++) {
                const ktrace_record *record = next_record(reader);
                const char *text;
                int64_t realtime;

                g_assert_cmpint(ktrace_record_get_kind(record), ==, KTRACE_EVENT);
                g_assert_cmpuint(ktrace_record_get_time(record), ==, FIXTURE_TS + (i + 1) * 1000);
                g_assert_cmpint(ktrace_record_get_realtime(record, &realtime), ==, 0);
                g_assert_cmpint(realtime, ==, REALTIME + (int64_t)ktrace_record_get_time(record));
                g_assert_cmpuint(ktrace_record_get_cpu(record), ==, events[i].cpu);
                g_assert_cmpint(ktrace_record_get_tid(record), ==, events[i].tid);
                if (events[i].tid == 41)
                        g_assert_cmpstr(ktrace_record_get_task(record), ==, "first");
                g_assert_cmpstr(ktrace_record_get_system(record), ==, "test");
                g_assert_cmpstr(ktrace_record_get_event(record), ==, i < 3 ? "hello" : "bytes");
                g_assert_cmpint(ktrace_record_get_text(record, &text), ==, 0);
                g_assert_cmpstr(text, ==, events[i].text);
                g_assert_cmpint((int64_t)get_number(record, i < 3 ? "number" : "n"),
                                ==,
                                events[i].number);
        }
        assert_at_end(reader);
}

static void test_file(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ktrace_reader *reader = open_reader(make_file(stream));

        g_assert_cmpint(ktrace_reader_get_fd(reader), ==, -EOPNOTSUPP);
        g_assert_cmpuint(ktrace_reader_get_timeout(reader), ==, 0);
        assert_sample(reader);
        ktrace_reader_free(reader);
}

/* However the stream is cut into pieces, and also when it is packed. */
static void test_stream(void) {
        g_autoptr(GByteArray) plain = stream_new_sample();
        g_autoptr(GByteArray) packed = stream_new_packed(plain);
        const GByteArray *streams[] = { plain, packed };

        for (size_t i = 0; i < G_N_ELEMENTS(streams); i++)
                for (size_t piece = 1; piece < 10000; piece = piece * 3 + 4) {
                        pid_t child;
                        ktrace_reader *reader = open_reader(make_pipe(streams[i], piece, &child));

                        assert_sample(reader);
                        ktrace_reader_free(reader);
                        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
                }
}

/* A program that polls: nothing is given before it is due, and then it is, although no data comes.
 */
static void test_poll(void) {
        g_autoptr(GByteArray) stream = stream_new();
        const ktrace_field *field = NULL;
        const ktrace_record *record;
        ktrace_reader *reader;
        int ends[2];
        Page page;

        stream_add_metadata(stream, 2);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 7, "one");
        stream_add_page(stream, 0, 0, &page);
        g_assert_no_errno(pipe2(ends, O_CLOEXEC));
        reader = open_reader(dup(ends[0]));
        g_assert_cmpint(ktrace_reader_find_field(reader, "test:hello", "number", &field),
                        ==,
                        -EAGAIN);
        g_assert_cmpuint(ktrace_reader_get_timeout(reader), ==, UINT64_MAX);
        g_assert_cmpint(ktrace_reader_next(reader, 0, &record, NULL), ==, -EAGAIN);
        g_assert_cmpint(write(ends[1], stream->data, stream->len), ==, (ssize_t)stream->len);
        int r = ktrace_reader_next(reader, 0, &record, NULL);
        if (r == -EAGAIN) { /* else the machine is so slow that it is due */
                g_assert_cmpuint(ktrace_reader_get_timeout(reader), <=, 8000);
                g_usleep(ktrace_reader_get_timeout(reader));
                r = ktrace_reader_next(reader, 0, &record, NULL);
        }
        g_assert_cmpint(r, ==, 1);
        g_assert_cmpuint(get_number(record, "number"), ==, 7);
        g_assert_cmpint(ktrace_reader_find_field(reader, "test:hello", "number", &field), ==, 0);
        g_assert_true(field == ktrace_record_find_field(record, "number"));
        close(ends[1]);
        g_assert_cmpint(ktrace_reader_next(reader, UINT64_MAX, &record, NULL), ==, 0);
        g_autofree char *end = NULL;
        g_assert_cmpint(ktrace_reader_get_end(reader, &end), ==, -ENODATA); /* it was cut off */
        ktrace_reader_free(reader);
        close(ends[0]);
}

static void test_fields(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ktrace_reader *reader = open_reader(make_file(stream));
        const ktrace_field *number, *other, *name, *args, *where;
        const ktrace_record *record;
        const char *text;
        const void *bytes;
        uint64_t value;
        size_t size;

        g_assert_cmpint(ktrace_reader_find_field(reader, "test:bytes", "n", &other), ==, 0);
        g_assert_cmpint(ktrace_reader_find_field(reader, "test:hello", "no", &number), ==, -ENOENT);
        g_assert_null(number);
        g_assert_cmpint(ktrace_reader_find_field(reader, "hello", "number", &number), ==, -ENOENT);
        g_assert_cmpint(ktrace_reader_find_field(reader, "tes:hello", "number", &number),
                        ==,
                        -ENOENT);
        record = next_record(reader);
        g_assert_cmpuint(ktrace_record_count_fields(record), ==, 5);
        g_assert_null(ktrace_record_get_field(record, 5));
        g_assert_null(ktrace_record_find_field(record, "no"));
        number = ktrace_record_get_field(record, 0);
        name = ktrace_record_find_field(record, "name");
        args = ktrace_record_find_field(record, "args");
        where = ktrace_record_find_field(record, "where");
        g_assert_cmpstr(ktrace_field_get_name(number), ==, "number");
        g_assert_cmpstr(ktrace_field_get_type(number), ==, "int");
        g_assert_cmpint(ktrace_field_get_kind(number), ==, KTRACE_SIGNED);
        g_assert_cmpint(ktrace_field_get_kind(other), ==, KTRACE_UNSIGNED);
        g_assert_cmpint(ktrace_field_get_kind(name), ==, KTRACE_STRING);
        g_assert_cmpint(ktrace_field_get_kind(args), ==, KTRACE_ARRAY);
        g_assert_cmpint(ktrace_field_get_kind(where), ==, KTRACE_POINTER);
        g_assert_cmpint(ktrace_record_get_string(record, name, &text, &size), ==, 0);
        g_assert_cmpmem(text, size, "somebody", 8);
        g_assert_cmpint(ktrace_record_get_bytes(record, args, &bytes, &size), ==, 0);
        g_assert_cmpuint(size, ==, 16);
        g_assert_cmpint(ktrace_record_get_string(record, number, &text, &size), ==, -EINVAL);
        g_assert_cmpint(ktrace_record_get_number(record, name, &value), ==, -EINVAL);
        g_assert_cmpint(ktrace_record_get_number(record, other, &value), ==, -ENOENT);
        ktrace_reader_free(reader);
}

/* A record that claims more bytes than it has: it has no text and no fields, and others have. */
static void test_damaged_record(void) {
        g_autoptr(GByteArray) stream = stream_new();
        const ktrace_record *record;
        ktrace_reader *reader;
        const char *text;
        uint64_t value;
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add(&page, FIXTURE_TS, "\x0a\0\0\0\x29\0\0\0\x01\0\0\0", 12); /* test:hello, cut */
        page_add_hello(&page, FIXTURE_TS + 1, 41, 1, "\x1b[2Jone");
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        reader = open_reader(make_file(stream));
        record = next_record(reader);
        g_assert_cmpint(ktrace_record_get_text(record, &text), ==, -EBADMSG);
        g_assert_cmpstr(text, ==, "");
        g_assert_cmpint(ktrace_record_get_number(
                                        record, ktrace_record_find_field(record, "number"), &value),
                        ==,
                        -EBADMSG);
        record = next_record(reader);
        g_assert_cmpint(ktrace_record_get_text(record, &text), ==, 0);
        g_assert_cmpstr(text, ==, "number=1 name=somebody text=\\x1b[2Jone");
        assert_at_end(reader);
        ktrace_reader_free(reader);
}

static void assert_lost(ktrace_reader *reader, int64_t lost) {
        const ktrace_record *record = next_record(reader);
        const char *text;

        g_assert_cmpint(ktrace_record_get_kind(record), ==, KTRACE_LOST);
        g_assert_cmpint(ktrace_record_get_lost(record), ==, lost);
        g_assert_cmpuint(ktrace_record_get_cpu(record), ==, 0);
        g_assert_cmpstr(ktrace_record_get_event(record), ==, "");
        g_assert_cmpstr(ktrace_record_get_task(record), ==, "");
        g_assert_cmpint(ktrace_record_get_tid(record), ==, 0);
        g_assert_cmpuint(ktrace_record_count_fields(record), ==, 0);
        g_assert_cmpint(ktrace_record_get_text(record, &text), ==, 0);
        g_assert_cmpstr(text, ==, "");
        g_assert_cmpint(ktrace_record_get_kind(next_record(reader)), ==, KTRACE_EVENT);
}

static void test_lost(void) {
        g_autoptr(GByteArray) stream = stream_new();
        pid_t child;
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 1, "one");
        stream_add_page(stream, 0, 12, &page);
        page_init(&page, FIXTURE_TS + 1000);
        page_add_hello(&page, FIXTURE_TS + 1000, 41, 2, "two");
        page_set_missed(&page, 0);
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        ktrace_reader *readers[] = { open_reader(make_file(stream)),
                open_reader(make_pipe(stream, 4096, &child)) };
        for (size_t i = 0; i < G_N_ELEMENTS(readers); i++) {
                assert_lost(readers[i], 12);
                assert_lost(readers[i], -1);
                assert_at_end(readers[i]);
                ktrace_reader_free(readers[i]);
        }
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
}

static void assert_refused(int fd, int result, const char *name, const char *text) {
        ktrace_reader *reader = (ktrace_reader *)&reader;
        ktrace_error error;

        g_assert_cmpint(ktrace_reader_open_fd(fd, &reader, &error), ==, result);
        g_assert_null(reader);
        g_assert_cmpstr(error.name, ==, name);
        if (!strstr(error.text, text))
                g_error("\"%s\" is not in \"%s\"", text, error.text);
        g_assert_cmpint(ktrace_reader_open_fd(fd, &reader, NULL), ==, result);
        close(fd);
}

static void test_refusals(void) {
        g_autoptr(GByteArray) junk = g_byte_array_new();
        const ktrace_record *record;
        ktrace_reader *reader;
        ktrace_error error;
        pid_t child;

        assert_refused(make_file(junk), -EINVAL, "org.ktrace1.Error.InvalidSpec", "empty");
        g_byte_array_append(junk, (const uint8_t *)"This is neither a stream nor a dat.", 35);
        assert_refused(make_file(junk), -EINVAL, "org.ktrace1.Error.InvalidSpec", "not a ktrace");
        assert_refused(open("/", O_RDONLY | O_CLOEXEC), -EISDIR, "org.ktrace1.Error.Failed", "");
        g_assert_cmpint(ktrace_reader_open("/", &reader, &error), ==, -EISDIR);
        g_assert_cmpstr(error.text, ==, "Is a directory");
        g_assert_cmpint(ktrace_reader_open("/no/such/file", &reader, &error), ==, -ENOENT);
        g_assert_cmpstr(error.text, ==, "No such file or directory");
        reader = open_reader(make_pipe(junk, 4096, &child));
        g_assert_cmpint(ktrace_reader_next(reader, UINT64_MAX, &record, &error), ==, -EBADMSG);
        g_assert_null(record);
        g_assert_cmpstr(error.text, !=, "");
        ktrace_reader_free(reader);
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
        ktrace_reader_free(NULL);
        ktrace_close(NULL);
        ktrace_session_free(NULL);
}

static void test_no_daemon(void) {
        ktrace *connection = (ktrace *)&connection;
        ktrace_error error;

        g_assert_true(g_setenv("KTRACE_VARLINK_ADDRESS", "unix:/no/such/socket", true));
        g_assert_cmpint(ktrace_open(KTRACE_VARLINK, &connection, &error), ==, -EIO);
        g_assert_null(connection);
        g_assert_nonnull(strstr(error.text, "/no/such/socket"));
        g_assert_cmpint(ktrace_open(~0u, &connection, &error), ==, -EINVAL);
}

/* Threads that each use a reader of their own. */
static gpointer read_sample(gpointer data) {
        for (unsigned i = 0; i < 50; i++) {
                ktrace_reader *reader = open_reader(make_file(data));

                assert_sample(reader);
                ktrace_reader_free(reader);
        }
        return NULL;
}

static void test_threads(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        GThread *threads[4];

        for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                threads[i] = g_thread_new("reader", read_sample, stream);
        for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                g_thread_join(threads[i]);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/library/reader/file", test_file);
        g_test_add_func("/library/reader/stream", test_stream);
        g_test_add_func("/library/reader/poll", test_poll);
        g_test_add_func("/library/reader/refusals", test_refusals);
        g_test_add_func("/library/record/fields", test_fields);
        g_test_add_func("/library/record/damaged", test_damaged_record);
        g_test_add_func("/library/record/lost", test_lost);
        g_test_add_func("/library/open/no-daemon", test_no_daemon);
        g_test_add_func("/library/threads", test_threads);
        return g_test_run();
}
