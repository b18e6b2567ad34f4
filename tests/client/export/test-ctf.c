/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CTF: the bytes of the packets, and the metadata that describes them. tests/e2e/ctf.sh reads the
 * format with babeltrace2. */

#include <string.h>

#include "ctf/ctf-names.h"
#include "ctf/part.h"
#include "stream-fixture.h"

#define HEADER_SIZE 60

/* The files that the parts make. */
typedef struct Files {
        GByteArray *bytes[4];
} Files;

static void files_free(Files *files) {
        for (size_t i = 0; i < G_N_ELEMENTS(files->bytes); i++)
                g_byte_array_unref(files->bytes[i]);
        g_free(files);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Files, files_free)

static Files *convert(const GByteArray *stream, ExportSummary *ret) {
        Files *files = g_new0(Files, 1);
        g_autofree char *text = NULL;
        Reason reason = {};
        PartHeader header;
        size_t size;

        int r = export_bytes(stream->data, stream->len, EXPORT_CTF, &text, &size, ret, &reason);
        if (r != 0)
                g_error("%d: %s", r, reason.text);
        for (size_t i = 0; i < G_N_ELEMENTS(files->bytes); i++)
                files->bytes[i] = g_byte_array_new();
        for (size_t at = 0; at < size; at += header.size) {
                memcpy(&header, text + at, sizeof(header));
                at += sizeof(header);
                g_assert_cmpuint(header.number, <, G_N_ELEMENTS(files->bytes));
                g_assert_cmpuint(header.size, <=, size - at);
                g_byte_array_append(files->bytes[header.number],
                                (const guint8 *)text + at,
                                header.size);
        }
        g_byte_array_append(files->bytes[PART_METADATA], (const guint8 *)"", 1);
        return files;
}

static const char *metadata_of(const Files *files) {
        return (const char *)files->bytes[PART_METADATA]->data;
}

static void assert_has(const Files *files, const char *text) {
        if (!strstr(metadata_of(files), text))
                g_error("no \"%s\" in the metadata:\n%s", text, metadata_of(files));
}

/* Reads the bytes of a stream file in order. */
typedef struct Cursor {
        const GByteArray *bytes;
        size_t at;
} Cursor;

static uint64_t take(Cursor *cursor, size_t size) {
        uint64_t number = 0;

        g_assert_cmpuint(cursor->at + size, <=, cursor->bytes->len);
        memcpy(&number, cursor->bytes->data + cursor->at, size);
        cursor->at += size;
        return number;
}

static void assert_text(Cursor *cursor, const char *text) {
        size_t size = strlen(text) + 1;

        g_assert_cmpuint(cursor->at + size, <=, cursor->bytes->len);
        g_assert_cmpstr((const char *)cursor->bytes->data + cursor->at, ==, text);
        cursor->at += size;
}

typedef struct Packet {
        uint64_t begin, end, n_bits, number, n_discarded, cpu;
} Packet;

static void assert_packet(Cursor *cursor, const Packet *packet) {
        g_assert_cmphex(take(cursor, 4), ==, 0xc1fc1fc1);
        g_assert_cmpuint(take(cursor, 4), ==, 0);
        g_assert_cmpuint(take(cursor, 8), ==, packet->begin);
        g_assert_cmpuint(take(cursor, 8), ==, packet->end);
        g_assert_cmpuint(take(cursor, 8), ==, packet->n_bits);
        g_assert_cmpuint(take(cursor, 8), ==, packet->n_bits);
        g_assert_cmpuint(take(cursor, 8), ==, packet->number);
        g_assert_cmpuint(take(cursor, 8), ==, packet->n_discarded);
        g_assert_cmpuint(take(cursor, 4), ==, packet->cpu);
}

static void assert_event(Cursor *cursor, unsigned id, uint64_t ts, unsigned tid, const char *comm) {
        g_assert_cmpuint(take(cursor, 4), ==, id);
        g_assert_cmpuint(take(cursor, 8), ==, ts);
        g_assert_cmpuint(take(cursor, 4), ==, tid);
        assert_text(cursor, comm);
}

static void assert_hello(Cursor *cursor, uint64_t ts, int number, const char *text) {
        assert_event(cursor, FIXTURE_HELLO_ID, ts, 41, "first");
        g_assert_cmpint((int32_t)take(cursor, 4), ==, number);
        assert_text(cursor, "somebody");
        assert_text(cursor, text);
        g_assert_cmpuint(take(cursor, 8), ==, 7);
        g_assert_cmpuint(take(cursor, 8), ==, 8);
        g_assert_cmphex(take(cursor, 8), ==, 0xabcd);
}

static void test_events(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ExportSummary summary;
        g_autoptr(Files) files = convert(stream, &summary);
        Cursor cursor = { .bytes = files->bytes[1] };

        assert_packet(&cursor,
                        &(Packet){ FIXTURE_TS + 1000,
                                        FIXTURE_TS + 3000,
                                        8 * files->bytes[1]->len });
        assert_hello(&cursor, FIXTURE_TS + 1000, 1, "one");
        assert_hello(&cursor, FIXTURE_TS + 3000, -3, "three");
        g_assert_cmpuint(cursor.at, ==, files->bytes[1]->len);

        cursor = (Cursor){ .bytes = files->bytes[2] };
        assert_packet(&cursor,
                        &(Packet){ FIXTURE_TS + 2000,
                                        FIXTURE_TS + 4000,
                                        8 * files->bytes[2]->len,
                                        .cpu = 1 });
        assert_event(&cursor, FIXTURE_HELLO_ID, FIXTURE_TS + 2000, 42, "second");
        cursor.at += 4 + strlen("somebody") + 1 + strlen("two") + 1 + 3 * 8;
        assert_event(&cursor, FIXTURE_BYTES_ID, FIXTURE_TS + 4000, 42, "second");
        g_assert_cmpuint(take(&cursor, 4), ==, 3);
        g_assert_cmpuint(take(&cursor, 4), ==, 3); /* the length of the sequence */
        g_assert_cmphex(take(&cursor, 3), ==, 0xff0201);
        g_assert_cmpuint(cursor.at, ==, files->bytes[2]->len);
        g_assert_cmpuint(summary.n_events, ==, 4);
        g_assert_true(summary.complete);
}

static void test_metadata(void) {
        g_autoptr(GByteArray) stream = stream_new_sample();
        ExportSummary summary;
        g_autoptr(Files) files = convert(stream, &summary);

        assert_has(files, "/* CTF 1.8 */\n");
        assert_has(files, "\tdomain = \"kernel\";\n");
        assert_has(files, "\thostname = \"m\";\n\tkernel_release = \"6.1\";\n");
        assert_has(files, "\tdescription = \"trace clock mono\";\n");
        assert_has(files, "\toffset_s = 1700000000;\n\toffset = 0;\n");
        assert_has(files,
                        "event {\n"
                        "\tid = 10;\n"
                        "\tname = \"test:hello\";\n"
                        "\tstream_id = 0;\n"
                        "\tfields := struct {\n"
                        "\t\tint32_t _number;\n"
                        "\t\tstring _name;\n"
                        "\t\tstring _text;\n"
                        "\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _args[2];\n"
                        "\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _where;\n"
                        "\t};\n"
                        "};\n");
        assert_has(files,
                        "\t\tuint32_t _n;\n"
                        "\t\tuint32_t __bytes_length;\n"
                        "\t\tuint8_t _bytes[__bytes_length];\n");
        g_assert_null(strstr(metadata_of(files), "instance"));
}

/* A machine whose clock was before 1970, and a recording that does not know the time of day. */
static void test_clock(void) {
        static const char *const cases[][2] = {
                { "\"realtime-offset-nsec\":                 -1,",
                                "offset_s = -1;\n\toffset = 999999999;" },
                { "\"realtime-offset-nsec\":9223372036854775807,", "offset_s = 0;\n\toffset = 0;" },
                { "\"realtime-offset-xxxx\":1700000000000000000,", "offset_s = 0;\n\toffset = 0;" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GByteArray) stream = stream_new_sample();
                char *key = memmem(stream->data, stream->len, "\"realtime-offset-nsec\"", 22);
                ExportSummary summary;

                memcpy(key, cases[i][0], strlen(cases[i][0]));
                g_autoptr(Files) files = convert(stream, &summary);
                assert_has(files, cases[i][1]);
        }
}

static void add_hello_page(GByteArray *stream, uint64_t ts, uint64_t lost) {
        Page page;

        page_init(&page, ts);
        page_add_hello(&page, ts, 41, 1, "one");
        stream_add_page(stream, 0, lost, &page);
}

/* Readers report a loss between two packets of which the second has a larger number. */
static void test_losses(void) {
        g_autoptr(GByteArray) stream = stream_new();
        uint64_t ts = FIXTURE_TS;
        ExportSummary summary;

        stream_add_metadata(stream, 1);
        add_hello_page(stream, ts + 10, 15);
        add_hello_page(stream, ts + 20, 3);
        stream_add_end(stream);
        g_autoptr(Files) files = convert(stream, &summary);
        Cursor cursor = { .bytes = files->bytes[1] };
        assert_packet(&cursor, &(Packet){ ts + 10, ts + 10, 8 * HEADER_SIZE, 0, 0 });
        assert_packet(&cursor, &(Packet){ ts + 10, ts + 10, 8 * HEADER_SIZE, 1, 15 });
        size_t event = (files->bytes[1]->len - 4 * HEADER_SIZE) / 2 - HEADER_SIZE / 2;
        assert_packet(&cursor, &(Packet){ ts + 10, ts + 10, 8 * (HEADER_SIZE + event), 2, 15 });
        assert_hello(&cursor, ts + 10, 1, "one");
        assert_packet(&cursor, &(Packet){ ts + 20, ts + 20, 8 * HEADER_SIZE, 3, 18 });
        assert_packet(&cursor, &(Packet){ ts + 20, ts + 20, 8 * (HEADER_SIZE + event), 4, 18 });
        assert_hello(&cursor, ts + 20, 1, "one");
        g_assert_cmpuint(cursor.at, ==, files->bytes[1]->len);
        g_assert_cmpuint(summary.n_lost, ==, 18);
}

/* Records that no format describes, and times that go back, which readers reject. */
static void test_damaged(void) {
        g_autoptr(GByteArray) stream = stream_new();
        uint8_t unknown[12] = { 200 };
        ExportSummary summary;
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add(&page, FIXTURE_TS, unknown, sizeof(unknown));
        stream_add_page(stream, 0, 0, &page);
        add_hello_page(stream, FIXTURE_TS - 1000, 0);
        g_autoptr(Files) files = convert(stream, &summary);
        Cursor cursor = { .bytes = files->bytes[1] };
        assert_packet(&cursor, &(Packet){ FIXTURE_TS, FIXTURE_TS, 8 * files->bytes[1]->len });
        assert_event(&cursor, 0, FIXTURE_TS, 0, "<idle>");
        g_assert_cmpuint(take(&cursor, 4), ==, 12);
        assert_hello(&cursor, FIXTURE_TS, 1, "one");
        g_assert_cmpuint(cursor.at, ==, files->bytes[1]->len);
        g_assert_false(summary.complete);
}

/* Readers add the offset of the time of day to the time, and reject what 64 bits do not hold. */
static void test_late(void) {
        g_autoptr(GByteArray) stream = stream_new();
        uint64_t latest = UINT64_C(1) << 62;
        ExportSummary summary;

        stream_add_metadata(stream, 1);
        add_hello_page(stream, UINT64_MAX - 1000, 7);
        g_autoptr(Files) files = convert(stream, &summary);
        Cursor cursor = { .bytes = files->bytes[1] };
        assert_packet(&cursor, &(Packet){ latest, latest, 8 * HEADER_SIZE, 0, 0 });
        assert_packet(&cursor, &(Packet){ latest, latest, 8 * HEADER_SIZE, 1, 7 });
        cursor.at += HEADER_SIZE;
        assert_hello(&cursor, latest, 1, "one");
}

/* Fields that share their bytes could make an event of any size. */
static void test_huge(void) {
        g_autoptr(GString) event = g_string_new(
                        "},{\"system\":\"test\",\"name\":\"huge\",\"format\":\"name: huge\\nID: 12\\nformat:\\n"
                        "\\tfield:unsigned short common_type;\\toffset:0;\\tsize:2;\\tsigned:0;\\n"
                        "\\tfield:unsigned char common_flags;\\toffset:2;\\tsize:1;\\tsigned:0;\\n"
                        "\\tfield:unsigned char common_preempt_count;\\toffset:3;\\tsize:1;\\tsigned:0;\\n"
                        "\\tfield:int common_pid;\\toffset:4;\\tsize:4;\\tsigned:1;\\n\\n");
        uint8_t record[2000] = { 12, [8] = 12, [10] = 1900 & 0xff, 1900 >> 8 };
        g_autoptr(GByteArray) stream = stream_new();
        ExportSummary summary;
        Page page;

        for (unsigned i = 0; i < 1000; i++)
                g_string_append_printf(event,
                                "\\tfield:__data_loc u32[] same%u;\\toffset:8;\\tsize:4;\\tsigned:0;\\n",
                                i % 500);
        g_string_append(event, "\\nprint fmt: \\\"\\\"\\n\"");
        stream_add_metadata_and(stream, 1, event->str, "");
        page_init(&page, FIXTURE_TS);
        page_add(&page, FIXTURE_TS, record, sizeof(record));
        record[10] = 6; /* one element and a half */
        record[11] = 0;
        page_add(&page, FIXTURE_TS, record, sizeof(record));
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        g_autoptr(Files) files = convert(stream, &summary);
        Cursor cursor = { .bytes = files->bytes[1], .at = HEADER_SIZE };
        assert_event(&cursor, 0, FIXTURE_TS, 0, "<idle>");
        g_assert_cmpuint(take(&cursor, 4), ==, 2000);
        assert_event(&cursor, 12, FIXTURE_TS, 0, "<idle>");
        g_assert_cmpuint(files->bytes[1]->len - cursor.at, ==, 1000 * (4 + 4));
        /* Two fields with one name would make the metadata invalid. */
        assert_has(files, " _same0_0[");
        assert_has(files, " _same0_500[");
}

/* Names that traced programs choose stay data. Strict readers stop at bytes that are not UTF-8. */
static void test_hostile_names(void) {
        g_autoptr(GByteArray) stream = stream_new();
        ExportSummary summary;
        Page page;

        stream_add_metadata(stream, 1);
        char *machine = memmem(
                        stream->data, stream->len, "\"machine\":\"m\",\"kernel\":\"6.1\"", 28);
        memcpy(machine, "\"machine\":\"\\\"; \\n\\\\\"  ,\"k\":0", 28);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page,
                        FIXTURE_TS,
                        43,
                        1,
                        "a\xff"
                        "b");
        stream_add_page(stream, 0, 0, &page);
        stream_add_json(stream, FRAME_COMMANDS, "{\"43\":\"\\u001b[2J\\\"\"}");
        stream_add_end(stream);
        g_autoptr(Files) files = convert(stream, &summary);
        assert_has(files, "\thostname = \"\\\"; ?\\\\\";\n");
        Cursor cursor = { .bytes = files->bytes[1], .at = HEADER_SIZE };
        assert_event(&cursor, FIXTURE_HELLO_ID, FIXTURE_TS, 43, "\x1b[2J\"");
        take(&cursor, 4);
        assert_text(&cursor, "somebody");
        assert_text(&cursor,
                        "a\xef\xbf\xbd"
                        "b");
}

static char *event_name(const char *system, const char *name) {
        struct tep_event event = { .system = (char *)system, .name = (char *)name };
        TextBlock block = {};

        ctf_names_add_event(&block, &event);
        char *text = g_strndup(block.data, block.used);
        text_block_clear(&block);
        return text;
}

static void test_names(void) {
        static const char *const cases[][3] = {
                { "sched", "sched_switch", "sched_switch" },
                { "syscalls", "sys_enter_openat", "syscall_entry_openat" },
                { "syscalls", "sys_exit_openat", "syscall_exit_openat" },
                { "raw_syscalls", "sys_enter", "raw_syscalls:sys_enter" },
                { "irq", "irq_handler_entry", "irq_handler_entry" },
                { "irq", "softirq_raise", "irq_softirq_raise" },
                { "timer", "hrtimer_start", "timer_hrtimer_start" },
                { "kmem", "mm_page_alloc", "kmem_mm_page_alloc" },
                { "probes", "sched_switch", "probes:sched_switch" },
                { "a\"b", "c\n\\\xff", "a\\\"b:c?\\\\?" },
        };
        static const char *const fields[][3] = {
                { "sched", "pid", "tid" },
                { "sched", "next_pid", "next_tid" },
                { "sched", "rapid", "rapid" },
                { "signal", "pid", "pid" },
                { "test", "a;b\"", "a_b_" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *name = event_name(cases[i][0], cases[i][1]);

                g_assert_cmpstr(name, ==, cases[i][2]);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
                struct tep_event event = { .system = (char *)fields[i][0] };
                TextBlock block = {};

                ctf_names_add_field(&block, &event, fields[i][1]);
                text_block_add_char(&block, '\0');
                g_assert_cmpstr(block.data, ==, fields[i][2]);
                text_block_clear(&block);
        }
}

static void test_states(void) {
        g_assert_cmphex(ctf_names_get_state(0), ==, 0);
        g_assert_cmphex(ctf_names_get_state(2), ==, 2);
        g_assert_cmphex(ctf_names_get_state(0x100), ==, 0x10000);
        g_assert_cmphex(ctf_names_get_state(0x80), ==, 0x402);
        g_assert_cmphex(ctf_names_get_state(0x20), ==, 0x20);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ctf/events", test_events);
        g_test_add_func("/ctf/metadata", test_metadata);
        g_test_add_func("/ctf/clock", test_clock);
        g_test_add_func("/ctf/losses", test_losses);
        g_test_add_func("/ctf/damaged", test_damaged);
        g_test_add_func("/ctf/late", test_late);
        g_test_add_func("/ctf/huge", test_huge);
        g_test_add_func("/ctf/hostile-names", test_hostile_names);
        g_test_add_func("/ctf/names", test_names);
        g_test_add_func("/ctf/states", test_states);
        return g_test_run();
}
