/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <pty.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "stream-fixture.h"

#include "export/export-count.h"
#include "export/export-live.h"

#define LINE_1 \
        "           first-41    [000]   100.000001: hello:                number=1 name=somebody text=one\n"
#define LINE_2 \
        "          second-42    [001]   100.000002: hello:                number=2 name=somebody text=two\n"
#define LINE_3 \
        "           first-41    [000]   100.000003: hello:                number=-3 name=somebody text=three\n"
#define LINE_4 "          second-42    [001]   100.000004: bytes:                01 02 ff\n"

static void test_text(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpstr(text, ==, "cpus=2\n" LINE_1 LINE_2 LINE_3 LINE_4);
        g_assert_cmpuint(summary.n_events, ==, 4);
        g_assert_cmpuint(summary.n_lost, ==, 0);
        g_assert_true(summary.complete);
        g_assert_cmpstr(summary.missing, ==, "");
        g_assert_cmpstr(summary.end_code, ==, "stopped");
        g_assert_cmpstr(summary.end_reason, ==, "by its owner");
}

static void test_json(void) {
        static const char first[] =
                        "{\"ts\":100000001000,\"wall\":\"2023-11-14T22:15:00.000001000Z\",\"cpu\":0,\"pid\":41,"
                        "\"comm\":\"first\",\"system\":\"test\",\"event\":\"hello\",\"fields\":{\"number\":1,"
                        "\"name\":\"somebody\",\"text\":\"one\",\"args\":[7,8],\"where\":\"0xabcd\"}}";
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        ExportSummary summary;
        Reason reason = { 0 };

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_JSON,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        lines = g_strsplit(text, "\n", -1);
        g_assert_cmpuint(g_strv_length(lines), ==, 7); /* four events, statistics, end, "" */
        g_assert_cmpstr(lines[0], ==, first);
        g_assert_nonnull(strstr(lines[3], "\"fields\":{\"n\":3,\"bytes\":[1,2,255]}"));
        g_assert_nonnull(strstr(lines[4], "{\"statistics\":{\"cpus\":[{\"cpu\":0,"));
        g_assert_cmpstr(lines[5],
                        ==,
                        "{\"end\":{\"code\":\"stopped\",\"reason\":\"by its owner\"}}");
}

/* Strings of traced programs are anything; each line must be JSON all the same. */
static void test_json_strings(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL;
        json_object *object, *fields, *value;
        ExportSummary summary;
        Reason reason = { 0 };
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page,
                        FIXTURE_TS,
                        1,
                        1,
                        "a\"\\\n\x1b\xff\xc3\xa4\xc2\x9b"
                        "b");
        stream_add_page(stream, 0, 0, &page);
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_JSON,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        *strchr(text, '\n') = '\0';
        g_assert_true(g_utf8_validate(text, -1, NULL));
        g_assert_null(strchr(text, '\x1b'));
        object = json_tokener_parse(text);
        g_assert_true(json_object_object_get_ex(object, "fields", &fields));
        g_assert_true(json_object_object_get_ex(fields, "text", &value));
        g_assert_cmpstr(json_object_get_string(value),
                        ==,
                        "a\"\\\n\x1b\xef\xbf\xbd\xc3\xa4\xc2\x9b"
                        "b");
        json_object_put(object);
}

static void test_kts(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *copy = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        size_t size;

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_KTS,
                                        &copy,
                                        &size,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpmem(copy, size, stream->data, stream->len);
        g_assert_cmpuint(summary.n_events, ==, 4);
}

/* Up to the last whole frame, and what is missing; at every byte. */
static void test_cut(void) {
        static const char *const lines[] = { LINE_1, LINE_2, LINE_3, LINE_4 };
        g_autoptr(GByteArray) stream = stream_new_sample();
        unsigned n_readable = 0, n_events[5] = { 0 };

        for (size_t size = 0; size < stream->len; size++) {
                g_autofree char *text = NULL;
                ExportSummary summary = { 0 };
                Reason reason = { 0 };
                int r = export_bytes(
                                stream->data, size, EXPORT_TEXT, &text, NULL, &summary, &reason);

                if (r != 0) {
                        g_assert_cmpint(r, ==, KT_E_FAILED);
                        g_assert_cmpstr(text, ==, "");
                        g_assert_true(g_str_has_prefix(reason.text, "t.kts: "));
                        g_assert_cmpuint(n_readable, ==, 0);
                        continue;
                }
                n_readable++;
                g_assert_false(summary.complete);
                g_assert_nonnull(strstr(summary.missing, "no end frame"));
                g_assert_cmpuint(summary.n_events, <=, 4);
                n_events[summary.n_events]++;
                if (summary.n_events == 2)
                        g_assert_cmpstr(text, ==, "cpus=2\n" LINE_1 LINE_3);
                if (summary.n_events == 4)
                        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
                                g_assert_nonnull(strstr(text, strchr(lines[i], '[')));
        }
        /* Nothing is read before the metadata is whole; then 0, 2 and 4 events. */
        g_assert_cmpuint(n_events[0], >, 0);
        g_assert_cmpuint(n_events[2], >, 0);
        g_assert_cmpuint(n_events[4], >, 0);
        g_assert_cmpuint(n_events[1] + n_events[3], ==, 0);
}

static void test_cut_copy(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *copy = NULL, *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        size_t size;

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len - 5,
                                        EXPORT_KTS,
                                        &copy,
                                        &size,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(size, <, stream->len - 5);
        g_assert_cmpint(export_bytes(copy, size, EXPORT_TEXT, &text, NULL, &summary, &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(summary.missing, "after a whole frame"));
}

static void test_not_one(void) {
        static const char *const texts[] = { "",
                "K",
                "hello, world\n",
                "KTSTREAM",
                "KTSTREAMxxxxxxxxyyyyyyyyyyyy",
                "\x17\x08\x44tracing5",
                "\x17\x08\x44tracing6" };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autofree char *text = NULL;
                ExportSummary summary;
                Reason reason = { 0 };

                g_assert_cmpint(export_bytes(texts[i],
                                                strlen(texts[i]),
                                                EXPORT_TEXT,
                                                &text,
                                                NULL,
                                                &summary,
                                                &reason),
                                >,
                                0);
                g_assert_cmpstr(text, ==, "");
                g_assert_true(g_str_has_prefix(reason.text, "t.kts: "));
                g_assert_null(strchr(reason.text, '\n'));
        }
}

/* Damage behind the metadata: what stands before it is printed. */
static void test_damaged_frame(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 1, "one");
        stream_add_page(stream, 0, 0, &page);
        stream_add_frame(stream, 99, 0, 0, "x", 1);
        stream_add_page(stream, 0, 0, &page);
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(summary.n_events, ==, 1);
        g_assert_nonnull(strstr(summary.missing, "damaged after"));
        g_assert_nonnull(strstr(summary.missing, "frame type 99"));
}

static void test_loss(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *json = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        Page page;

        stream_add_metadata(stream, 2);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 1, "one");
        page_set_missed(&page, 12);
        /* The frame's number covers its sub-buffers' flags. */
        stream_add_page(stream, 0, 15, &page);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS + 1000, 41, 2, "two");
        page_set_missed(&page, 7);
        stream_add_frame(stream, FRAME_DATA, 1, 0, page.data, page_size(&page) + 8);
        /* No record behind the loss. */
        stream_add_frame(stream, FRAME_DATA, 1, 3, "", 0);
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(summary.n_lost, ==, 25);
        g_assert_true(g_str_has_prefix(
                        text, "cpus=2\nCPU:0 [15 EVENTS DROPPED]\n           first-41 "));
        g_assert_nonnull(strstr(text, "\nCPU:1 [7 EVENTS DROPPED]\n"));
        g_assert_true(g_str_has_suffix(text, "\nCPU:1 [3 EVENTS DROPPED]\n"));
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_JSON,
                                        &json,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(json, "{\"lost\":15,\"cpu\":0}\n{\"ts\":100000000000"));
        g_assert_nonnull(strstr(json, "{\"lost\":3,\"cpu\":1}\n{\"error\":"));
}

/* What the worker did not tell counts as lost. */
static void test_worker_cut(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = {};

        stream_add_metadata(stream, 1);
        stream_add_json(stream,
                        FRAME_STATISTICS,
                        "{\"cpus\":[{\"cpu\":0,\"lost\":1}],\"foreign\":1000,\"doubtful\":20,"
                        "\"limited\":300}");
        stream_add_json(stream, FRAME_END, "{\"code\":\"stopped\",\"reason\":\"\"}");
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(summary.n_lost, ==, 321);
}

/* Records that lie about themselves are reported as such, in place. */
static void test_lies(void) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *text = NULL, *json = NULL;
        uint8_t record[60] = { FIXTURE_HELLO_ID }, unknown[12] = { 200 };
        ExportSummary summary;
        Reason reason = { 0 };
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_bytes(&page, FIXTURE_TS, 41, 60000, "ab", 2);
        memcpy(record + 28, &(uint32_t){ 60000u << 16 | 60000 }, 4);
        page_add(&page, FIXTURE_TS + 1000, record, sizeof(record));
        page_add(&page, FIXTURE_TS + 2000, unknown, sizeof(unknown));
        page_add(&page, FIXTURE_TS + 3000, record, 4);
        stream_add_page(stream, 0, 0, &page);
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpuint(summary.n_events, ==, 4);
        g_assert_nonnull(strstr(text, "bytes:                 n=60000"));
        g_assert_nonnull(strstr(text, "hello:                [DAMAGED RECORD OF 60 BYTES]\n"));
        g_assert_nonnull(strstr(text, "(unknown event): [12 BYTES]\n"));
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_JSON,
                                        &json,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(json,
                        "\"event\":\"hello\",\"error\":\"a record that is not as its format says\"}"));
}

/* What a traced program wrote must not move a terminal's cursor nor forge a line. */
static void test_terminal(void) {
        g_autoptr(GByteArray) stream = stream_new();
        char buffer[4096] = { 0 };
        int in = open("/tmp", O_TMPFILE | O_RDWR, 0600), master, slave;
        ExportSummary summary;
        Reason reason = { 0 };
        FILE *out;
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 1, 1, "\x1b[2J\nforged\x9b\xc2\x9b\xc3\xa4");
        stream_add_page(stream, 0, 0, &page);
        stream_add_json(stream, FRAME_COMMANDS, "{\"1\":\"a\\u001bb\"}");
        g_assert_cmpint(write(in, stream->data, stream->len), ==, (ssize_t)stream->len);
        if (openpty(&master, &slave, NULL, NULL, NULL) < 0) {
                g_test_skip("no pseudo-terminals here");
                return;
        }
        out = fdopen(slave, "w");
        g_assert_cmpint(export_file(in, "t", EXPORT_TEXT, out, &summary, &reason), ==, 0);
        /* The kernel hands it over in pieces, at times. The last line ends so. */
        for (size_t at = 0; !strstr(buffer, "\xa4\r\n");) {
                ssize_t n = read(master, buffer + at, sizeof(buffer) - 1 - at);

                g_assert_cmpint(n, >, 0);
                at += (size_t)n;
        }
        g_assert_null(strchr(buffer, '\x1b'));
        g_assert_nonnull(strstr(buffer, "a\\x1bb-1 "));
        g_assert_nonnull(strstr(buffer, "text=\\x1b[2J\\x0aforged\\x9b\\xc2\\x9b\xc3\xa4\r\n"));
        fclose(out);
        close(master);
        close(in);
}

static void test_pipe(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *text = NULL;
        int ends[2], copy = open("/tmp", O_TMPFILE | O_RDWR, 0600);
        FILE *out = fdopen(copy, "w+");
        ExportSummary summary;
        Reason reason = { 0 };
        char line[256];

        g_assert_cmpint(pipe(ends), ==, 0);
        g_assert_cmpint(write(ends[1], stream->data, stream->len), ==, (ssize_t)stream->len);
        close(ends[1]);
        g_assert_cmpint(export_file(ends[0], "-", EXPORT_TEXT, out, &summary, &reason), ==, 0);
        rewind(out);
        g_assert_nonnull(fgets(line, sizeof(line), out));
        g_assert_nonnull(fgets(line, sizeof(line), out));
        /* A command frame far behind the record named it. */
        g_assert_nonnull(fgets(line, sizeof(line), out));
        g_assert_cmpstr(line, ==, LINE_2);
        fclose(out);
        close(ends[0]);
}

typedef struct DatCase {
        bool is_packed; /* the stream's frames */
        bool is_plain, is_own;
} DatCase;

/* Makes a trace.dat of the stream and text of that. */
static void make_dat(const GByteArray *stream,
                const DatCase *how,
                char **ret_dat,
                ExportSummary *ret,
                char **ret_text) {
        g_autoptr(GByteArray) packed = stream_new_packed(stream);
        const GByteArray *bytes = how->is_packed ? packed : stream;
        int in = memfd_create("in", MFD_CLOEXEC), copy = memfd_create("out", MFD_CLOEXEC);
        FILE *out = fdopen(copy, "w");
        const ExportSource source = {
                .fd = in, .name = "t.kts", .is_plain = how->is_plain, .is_own = how->is_own
        };
        ExportSummary of_text;
        Reason reason = {};

        g_assert_cmpint(write(in, bytes->data, bytes->len), ==, (ssize_t)bytes->len);
        g_assert_cmpint(export_source(&source, EXPORT_DAT, out, ret, &reason), ==, 0);
        g_assert_cmpint(fflush(out), ==, 0);
        off_t size = lseek(copy, 0, SEEK_END);
        *ret_dat = g_malloc0((gsize)size + 1);
        g_assert_cmpint(pread(copy, *ret_dat, (size_t)size, 0), ==, size);
        fclose(out);
        close(in);
        g_assert_cmpint(export_bytes(*ret_dat,
                                        (size_t)size,
                                        EXPORT_TEXT,
                                        ret_text,
                                        NULL,
                                        &of_text,
                                        &reason),
                        ==,
                        0);
        g_assert_true(of_text.complete);
}

static const DatCase dat_cases[] = {
        { false, false, false },
        { false, false, true },
        { false, true, false },
        { false, true, true },
        { true, false, false },
        { true, false, true },
        { true, true, false },
        { true, true, true },
};

/* What we write as trace.dat reads back as the same text. */
static void test_dat(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();

        for (size_t i = 0; i < G_N_ELEMENTS(dat_cases); i++) {
                g_autofree char *dat = NULL, *text = NULL;
                ExportSummary summary;

                make_dat(stream, &dat_cases[i], &dat, &summary, &text);
                g_assert_cmpuint(summary.n_events, ==, 4);
                g_assert_cmpuint(summary.n_lost, ==, 0);
                g_assert_true(summary.complete);
                g_assert_cmpmem(dat,
                                12,
                                dat_cases[i].is_plain ? "\x17\x08\x44tracing6"
                                                      : "\x17\x08\x44tracing7",
                                12);
                g_assert_cmpstr(text, ==, "cpus=2\n" LINE_1 LINE_2 LINE_3 LINE_4);
        }
}

static void test_packed(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autoptr(GByteArray) packed = stream_new_packed(stream);
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = {};

        g_assert_cmpint(export_bytes(packed->data,
                                        packed->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpstr(text, ==, "cpus=2\n" LINE_1 LINE_2 LINE_3 LINE_4);
        g_assert_cmpuint(summary.n_events, ==, 4);
        g_assert_true(summary.complete);
}

/* A packed frame of this payload after the metadata: as text, live, and copied into a trace.dat. */
static void check_bad_packed(const void *payload, size_t size, const char *expected) {
        static const ExportFormat formats[] = { EXPORT_TEXT, EXPORT_DAT };
        g_autoptr(GByteArray) stream = stream_new();
        LiveExport *live;
        Reason reason = {};

        stream_add_metadata(stream, 1);
        stream_add_frame(stream, FRAME_PACKED, 0, 0, payload, size);
        stream_add_end(stream);
        for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
                g_autofree char *text = NULL;
                ExportSummary summary;
                int r = export_bytes(stream->data,
                                stream->len,
                                formats[i],
                                &text,
                                NULL,
                                &summary,
                                &reason);

                if (r == 0)
                        g_assert_nonnull(strstr(summary.missing, expected));
                else
                        g_assert_nonnull(strstr(reason.text, "damaged"));
        }
        FILE *out = tmpfile();
        g_assert_cmpint(live_export_new(EXPORT_TEXT, out, &live), ==, 0);
        g_assert_cmpint(live_export_feed(live, stream->data, stream->len, &reason), >, 0);
        g_assert_nonnull(strstr(reason.text, "damaged"));
        live_export_free(live);
        fclose(out);
}

static void test_bad_packed(void) {
        uint8_t payload[sizeof(PackedHeader) + 64] = {};
        PackedHeader header = { .packed_bytes = 64, .data_bytes = 4096 };

        check_bad_packed(payload, 3, "a packed frame of 3 bytes");
        packed_header_encode(payload, &header);
        check_bad_packed(payload, sizeof(payload), "damaged"); /* no zstd frame */
        check_bad_packed(payload, sizeof(payload) - 1, "says it has 64");
        header.data_bytes = UINT32_MAX;
        packed_header_encode(payload, &header);
        check_bad_packed(payload, sizeof(payload), "of 4294967295 bytes after unpacking");
        /* A frame that unpacks to more, or to less, than it says. */
        uint8_t zeros[8192] = {};
        size_t n = ZSTD_compress(payload + sizeof(header), 64, zeros, sizeof(zeros), 1);
        g_assert_false(ZSTD_isError(n));
        for (uint32_t claimed = 4096; claimed <= 12288; claimed += 8192) {
                header = (PackedHeader){ .packed_bytes = (uint32_t)n, .data_bytes = claimed };
                packed_header_encode(payload, &header);
                check_bad_packed(payload, sizeof(header) + n, "damaged");
        }
}

static void test_dat_loss(void) {
        g_autoptr(GByteArray) stream = stream_new();
        Page page;

        stream_add_metadata(stream, 1);
        stream_add_frame(stream, FRAME_DATA, 0, 4, "", 0);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, 1, "one");
        stream_add_page(stream, 0, 5, &page);
        for (size_t i = 0; i < G_N_ELEMENTS(dat_cases); i++) {
                g_autofree char *dat = NULL, *text = NULL;
                ExportSummary summary;

                make_dat(stream, &dat_cases[i], &dat, &summary, &text);
                g_assert_cmpuint(summary.n_events, ==, 1);
                g_assert_cmpuint(summary.n_lost, ==, 9);
                g_assert_true(g_str_has_prefix(text, "cpus=1\nCPU:0 [9 EVENTS DROPPED]\n"));
        }
}

static void add_short(GByteArray *stream, uint64_t ts, int number, uint64_t lost) {
        Page page;

        page_init(&page, ts);
        page_add_hello(&page, ts + 1000, 41, number, "short");
        page_add_hello(&page, ts + 2000, 41, number, "again");
        stream_add_page(stream, 0, lost, &page);
}

/* Returns the bytes of the first CPU's data in a trace.dat of version 6. */
static uint64_t get_data_size(const char *dat) {
        const char *at = memmem(dat, 65536, "flyrecord", sizeof("flyrecord"));
        uint64_t size;

        g_assert_nonnull(at);
        memcpy(&size, at + sizeof("flyrecord") + 8, sizeof(size));
        return size;
}

/* Short sub-buffers are joined where nothing was lost, also over a pause that exceeds a record's 27
 * bits of time. One that is older, is padded to its end or follows lost events begins anew. */
static void test_dat_joined(void) {
        static const DatCase plain = { .is_plain = true };
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *dat = NULL, *text = NULL, *expected = NULL;
        ExportSummary summary;
        Reason reason = {};
        Page padded;

        stream_add_metadata(stream, 1);
        add_short(stream, FIXTURE_TS, 1, 0);
        add_short(stream, FIXTURE_TS + 5000, 2, 0);
        add_short(stream, FIXTURE_TS + UINT64_C(3600000000000), 3, 0);
        for (uint64_t i = 1; i <= 40; i++)
                add_short(stream, FIXTURE_TS + UINT64_C(3600000000000) + i * 5000, 4, 0);
        add_short(stream, FIXTURE_TS + UINT64_C(3700000000000), 5, 7);
        page_init(&padded, FIXTURE_TS + UINT64_C(3800000000000));
        page_add_hello(&padded, FIXTURE_TS + UINT64_C(3800000000000), 41, 6, "padded");
        memcpy(padded.data + page_size(&padded), (const uint32_t[]){ 29, 0 }, 8);
        padded.used += 8;
        memcpy(padded.data + 8, &padded.used, sizeof(padded.used));
        stream_add_page(stream, 0, 0, &padded);
        add_short(stream, FIXTURE_TS + UINT64_C(3900000000000), 7, 0);
        add_short(stream, FIXTURE_TS + UINT64_C(3900000000000), 8, 0);
        stream_add_end(stream);
        make_dat(stream, &plain, &dat, &summary, &text);
        g_assert_cmpuint(summary.n_events, ==, 2 * 43 + 2 + 1 + 4);
        g_assert_cmpuint(summary.n_lost, ==, 7);
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &expected,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_cmpstr(text, ==, expected);
        /* The first 43 need two sub-buffers, and the others one each. */
        g_assert_cmpuint(get_data_size(dat), ==, 6 * FIXTURE_SUBBUF_SIZE);
}

static void test_dat_needs_a_file(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        int in = open("/tmp", O_TMPFILE | O_RDWR, 0600), ends[2];
        ExportSummary summary;
        Reason reason = { 0 };
        FILE *out;

        g_assert_cmpint(write(in, stream->data, stream->len), ==, (ssize_t)stream->len);
        g_assert_cmpint(pipe(ends), ==, 0);
        out = fdopen(ends[1], "w");
        g_assert_cmpint(export_file(in, "t", EXPORT_DAT, out, &summary, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "-o FILE"));
        fclose(out);
        close(ends[0]);
        close(in);
}

static void test_clock(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        char *clock = memmem(stream->data, stream->len, "\"mono\"", 6);

        memcpy(clock, "\"boot\"", 6);
        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        /* trace-cmd prints clocks that it does not know as plain numbers. */
        g_assert_nonnull(strstr(text, "first-41    [000]100000001000: hello: "));
}

static void test_bad_metadata(void) {
        static const char *const texts[] = {
                "",
                "[]",
                "{\"version\":1",
                "{}",
                "{\"subbuf-size\":4096,\"long-size\":8,\"cpus\":1}",
                "{\"subbuf-size\":4096,\"long-size\":8,\"cpus\":1,\"events\":[1]}",
                "{\"subbuf-size\":1099511627776,\"long-size\":8,\"cpus\":1,\"events\":[]}",
                "{\"subbuf-size\":0,\"long-size\":8,\"cpus\":1,\"events\":[]}",
                "{\"subbuf-size\":4096,\"long-size\":5,\"cpus\":1,\"events\":[]}",
                "{\"subbuf-size\":4096,\"long-size\":8,\"cpus\":1000000000,\"events\":[]}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(GByteArray) stream = stream_new();
                g_autofree char *text = NULL;
                ExportSummary summary;
                Reason reason = { 0 };

                stream_add_json(stream, FRAME_METADATA, texts[i]);
                g_assert_cmpint(export_bytes(stream->data,
                                                stream->len,
                                                EXPORT_TEXT,
                                                &text,
                                                NULL,
                                                &summary,
                                                &reason),
                                ==,
                                KT_E_FAILED);
                g_assert_true(g_str_has_prefix(reason.text, "t.kts: damaged"));
        }
}

/* As whoever reads it whole counts it, wherever it is cut. */
static void test_count(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();

        for (size_t size = 0; size <= stream->len; size += size < stream->len - 8 ? 7 : 1) {
                int in = open("/tmp", O_TMPFILE | O_RDWR, 0600);
                ExportSummary counted, read_whole = {};
                Reason reason;
                size_t copied;
                char *text;

                g_assert_cmpint(write(in, stream->data, size), ==, (ssize_t)size);
                g_assert_cmpint(export_count(in, true, &counted), ==, 0);
                close(in);
                g_assert_cmpint(counted.complete, ==, size == stream->len);
                g_assert_true(counted.complete == (counted.missing[0] == '\0'));
                if (size < stream->len)
                        continue;
                g_assert_cmpint(export_bytes(stream->data,
                                                size,
                                                EXPORT_TEXT,
                                                &text,
                                                &copied,
                                                &read_whole,
                                                &reason),
                                ==,
                                0);
                g_free(text);
                g_assert_cmpuint(counted.n_events, ==, read_whole.n_events);
                g_assert_cmpuint(counted.n_lost, ==, read_whole.n_lost);
                g_assert_cmpstr(counted.end_code, ==, read_whole.end_code);
        }
}

static void test_names(void) {
        ExportFormat format;

        g_assert_cmpint(export_format_from_suffix("a.b/t.dat", &format), ==, 0);
        g_assert_cmpint(format, ==, EXPORT_DAT);
        g_assert_cmpint(export_format_from_suffix("t.txt", &format), ==, 0);
        g_assert_cmpint(format, ==, EXPORT_TEXT);
        g_assert_cmpint(export_format_from_suffix("t", &format), ==, -EINVAL);
        g_assert_cmpint(export_format_from_string("json", &format), ==, 0);
        g_assert_cmpint(format, ==, EXPORT_JSON);
        g_assert_cmpint(export_format_from_string("no-such", &format), ==, -EINVAL);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/export/text", test_text);
        g_test_add_func("/export/json", test_json);
        g_test_add_func("/export/json-strings", test_json_strings);
        g_test_add_func("/export/kts", test_kts);
        g_test_add_func("/export/cut", test_cut);
        g_test_add_func("/export/cut-copy", test_cut_copy);
        g_test_add_func("/export/not-one", test_not_one);
        g_test_add_func("/export/damaged-frame", test_damaged_frame);
        g_test_add_func("/export/loss", test_loss);
        g_test_add_func("/export/worker-cut", test_worker_cut);
        g_test_add_func("/export/lies", test_lies);
        g_test_add_func("/export/terminal", test_terminal);
        g_test_add_func("/export/pipe", test_pipe);
        g_test_add_func("/export/dat", test_dat);
        g_test_add_func("/export/dat-loss", test_dat_loss);
        g_test_add_func("/export/dat-joined", test_dat_joined);
        g_test_add_func("/export/packed", test_packed);
        g_test_add_func("/export/bad-packed", test_bad_packed);
        g_test_add_func("/export/dat-needs-a-file", test_dat_needs_a_file);
        g_test_add_func("/export/clock", test_clock);
        g_test_add_func("/export/bad-metadata", test_bad_metadata);
        g_test_add_func("/export/names", test_names);
        g_test_add_func("/export/count", test_count);
        return g_test_run();
}
