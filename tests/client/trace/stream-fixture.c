/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Small .kts streams made by code, for the client's unit tests: two events, pages as
 * kernel/trace/ring_buffer.c lays them out. */

#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "stream-fixture.h"

#include "trace/subbuf.h"

#define COMMON                                                                         \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

const char fixture_hello_format[] =
                "name: hello\nID: 10\nformat:\n" COMMON
                "\tfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:char name[16];\toffset:12;\tsize:16;\tsigned:0;\n"
                "\tfield:__data_loc char[] text;\toffset:28;\tsize:4;\tsigned:0;\n"
                "\tfield:unsigned long args[2];\toffset:32;\tsize:16;\tsigned:0;\n"
                "\tfield:void * where;\toffset:48;\tsize:8;\tsigned:0;\n\n"
                "print fmt: \"number=%d name=%s text=%s\", REC->number, REC->name, "
                "__get_str(text)\n";

const char fixture_bytes_format[] =
                "name: bytes\nID: 11\nformat:\n" COMMON
                "\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;\n"
                "\tfield:__data_loc u8[] bytes;\toffset:12;\tsize:4;\tsigned:0;\n\n"
                "print fmt: \"%s\", __print_hex(__get_dynamic_array(bytes), REC->n)\n";

static const char page_format[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                                  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                                  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static void put_u32(uint8_t *out, uint32_t value) {
        memcpy(out, &value, sizeof(value));
}

void page_init(Page *page, uint64_t ts) {
        *page = (Page){ .ts = ts };
        memcpy(page->data, &ts, sizeof(ts));
}

static void page_commit(Page *page) {
        uint64_t commit = page->used;

        memcpy(page->data + 8, &commit, sizeof(commit));
}

size_t page_size(const Page *page) {
        return 16 + page->used;
}

void page_add(Page *page, uint64_t ts, const void *record, size_t size) {
        uint64_t delta = ts - page->ts;
        uint8_t *out = page->data + page_size(page);
        size_t aligned = (size + 3) & ~(size_t)3;

        if (delta >= 1 << 27) {
                put_u32(out, 30 | (uint32_t)((delta & ((1 << 27) - 1)) << 5));
                put_u32(out + 4, (uint32_t)(delta >> 27));
                out += 8;
                page->used += 8;
                delta = 0;
        }
        if (aligned <= 28 * 4) {
                put_u32(out, (uint32_t)(delta << 5) | (uint32_t)(aligned / 4));
                out += 4;
                page->used += 4;
        } else {
                put_u32(out, (uint32_t)(delta << 5));
                put_u32(out + 4, (uint32_t)aligned + 4);
                out += 8;
                page->used += 8;
        }
        g_assert_cmpuint(page_size(page) + aligned, <=, FIXTURE_SUBBUF_SIZE);
        memcpy(out, record, size);
        page->used += aligned;
        page->ts = ts;
        page_commit(page);
}

static void put_common(uint8_t *out, uint16_t id, int pid) {
        memcpy(out, &id, sizeof(id));
        put_u32(out + 4, (uint32_t)pid);
}

void page_add_hello(Page *page, uint64_t ts, int pid, int number, const char *text) {
        uint8_t record[1024] = { 0 };
        size_t size = strlen(text) + 1;

        put_common(record, FIXTURE_HELLO_ID, pid);
        put_u32(record + 8, (uint32_t)number);
        memcpy(record + 12, "somebody", 8);
        put_u32(record + 28, (uint32_t)(size << 16 | 56));
        put_u32(record + 32, 7);
        put_u32(record + 40, 8);
        put_u32(record + 48, 0xabcd);
        memcpy(record + 56, text, size);
        page_add(page, ts, record, 56 + size);
}

void page_add_bytes(Page *page,
                uint64_t ts,
                int pid,
                uint32_t claimed,
                const void *bytes,
                size_t size) {
        uint8_t record[1024] = { 0 };

        put_common(record, FIXTURE_BYTES_ID, pid);
        put_u32(record + 8, claimed);
        put_u32(record + 12, (uint32_t)(size << 16 | 16));
        memcpy(record + 16, bytes, size);
        page_add(page, ts, record, 16 + size);
}

void page_set_missed(Page *page, uint64_t count) {
        uint64_t commit = page->used | UINT64_C(1) << 31 | (count > 0 ? UINT64_C(1) << 30 : 0);

        memcpy(page->data + 8, &commit, sizeof(commit));
        memcpy(page->data + page_size(page), &count, sizeof(count));
}

GByteArray *stream_new(void) {
        GByteArray *stream = g_byte_array_new();
        uint8_t header[sizeof(StreamHeader)];

        stream_header_encode(header, STREAM_VERSION);
        return g_byte_array_append(stream, header, sizeof(header));
}

void stream_add_frame(GByteArray *stream,
                uint32_t type,
                uint32_t cpu,
                uint64_t lost,
                const void *data,
                size_t size) {
        FrameHeader header = { .type = type, .cpu = cpu, .size = size, .lost = lost };
        uint8_t bytes[sizeof(header)];

        frame_header_encode(bytes, &header);
        g_byte_array_append(stream, bytes, sizeof(bytes));
        g_byte_array_append(stream, data, (guint)size);
}

void stream_add_json(GByteArray *stream, uint32_t type, const char *json) {
        stream_add_frame(stream, type, 0, 0, json, strlen(json));
}

void stream_add_metadata_and(GByteArray *stream,
                unsigned n_cpus,
                const char *of_event,
                const char *more) {
        g_autofree char *hello = g_strescape(fixture_hello_format, NULL);
        g_autofree char *bytes = g_strescape(fixture_bytes_format, NULL);
        g_autofree char *page = g_strescape(page_format, NULL);
        g_autofree char *json = g_strdup_printf(
                        "{\"version\":1,\"machine\":\"m\",\"kernel\":\"6.1\",\"arch\":\"x86_64\","
                        "\"long-size\":8,\"page-size\":4096,\"subbuf-size\":%d,\"cpus\":%u,"
                        "\"clock\":\"mono\",\"realtime-offset-nsec\":1700000000000000000,"
                        "\"header-page\":\"%s\","
                        "\"header-event\":\"\","
                        "\"events\":[{\"system\":\"test\",\"name\":\"hello\",\"format\":\"%s\"},"
                        "{\"system\":\"test\",\"name\":\"bytes\",\"format\":\"%s\"%s}],"
                        "\"commands\":{\"41\":\"first\"}%s}",
                        FIXTURE_SUBBUF_SIZE,
                        n_cpus,
                        page,
                        hello,
                        bytes,
                        of_event,
                        more);

        stream_add_json(stream, FRAME_METADATA, json);
}

void stream_add_metadata(GByteArray *stream, unsigned n_cpus) {
        stream_add_metadata_and(stream, n_cpus, "", "");
}

void stream_add_page(GByteArray *stream, uint32_t cpu, uint64_t lost, const Page *page) {
        stream_add_frame(stream, FRAME_DATA, cpu, lost, page->data, page_size(page));
}

static void add_packed(GByteArray *stream, const FrameHeader *header, const uint8_t *data) {
        size_t whole = (header->size + FIXTURE_SUBBUF_SIZE - 1) / FIXTURE_SUBBUF_SIZE *
                       FIXTURE_SUBBUF_SIZE;
        g_autofree uint8_t *pages = g_malloc0(whole);
        size_t bound = sizeof(PackedHeader) + ZSTD_compressBound(whole);
        g_autofree uint8_t *payload = g_malloc(bound);
        PackedHeader packed = { .data_bytes = (uint32_t)whole };

        memcpy(pages, data, header->size);
        for (size_t at = 0; at < whole; at += FIXTURE_SUBBUF_SIZE) {
                const uint8_t *record;
                uint32_t size;
                int64_t missed;
                uint64_t ts;
                Subbuf walk;

                subbuf_open(&walk, pages + at, FIXTURE_SUBBUF_SIZE, 8, &missed);
                while (subbuf_next(&walk, &record, &size, &ts))
                        packed.n_records++;
        }
        size_t n = ZSTD_compress(payload + sizeof(PackedHeader), bound, pages, whole, 1);
        g_assert_false(ZSTD_isError(n));
        packed.packed_bytes = (uint32_t)n;
        packed_header_encode(payload, &packed);
        stream_add_frame(stream,
                        FRAME_PACKED,
                        header->cpu,
                        header->lost,
                        payload,
                        sizeof(PackedHeader) + n);
}

GByteArray *stream_new_packed(const GByteArray *stream) {
        GByteArray *result = g_byte_array_new();
        uint8_t head[sizeof(StreamHeader)];
        size_t at = sizeof(head);

        stream_header_encode(head, STREAM_VERSION_PACKED);
        g_byte_array_append(result, head, sizeof(head));
        while (at < stream->len) {
                const uint8_t *payload = stream->data + at + sizeof(FrameHeader);
                FrameHeader header;
                Reason reason;

                g_assert_cmpint(frame_header_decode(stream->data + at, &header, &reason), ==, 0);
                if (header.type == FRAME_DATA && header.size > 0)
                        add_packed(result, &header, payload);
                else
                        g_byte_array_append(result,
                                        stream->data + at,
                                        (guint)(sizeof(header) + header.size));
                at += sizeof(header) + header.size;
        }
        return result;
}

void stream_add_end(GByteArray *stream) {
        stream_add_json(stream,
                        FRAME_STATISTICS,
                        "{\"cpus\":[{\"cpu\":0,\"recorded\":2,\"read\":2,\"lost\":0,\"overwritten\":0,"
                        "\"bytes\":100,\"entries\":0}],\"discarded-bytes\":0}");
        stream_add_json(stream, FRAME_END, "{\"code\":\"stopped\",\"reason\":\"by its owner\"}");
}

GByteArray *stream_new_sample(void) {
        GByteArray *stream = stream_new();
        Page page;

        stream_add_metadata(stream, 2);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS + 1000, 41, 1, "one");
        page_add_hello(&page, FIXTURE_TS + 3000, 41, -3, "three");
        stream_add_page(stream, 0, 0, &page);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS + 2000, 42, 2, "two");
        page_add_bytes(&page, FIXTURE_TS + 4000, 42, 3, "\x01\x02\xff", 3);
        stream_add_page(stream, 1, 0, &page);
        stream_add_json(stream, FRAME_COMMANDS, "{\"42\":\"second\"}");
        stream_add_end(stream);
        return stream;
}

int export_bytes(const void *data,
                size_t size,
                ExportFormat format,
                char **ret_text,
                size_t *ret_size,
                ExportSummary *ret,
                Reason *reason) {
        int in = memfd_create("in", MFD_CLOEXEC), copy = memfd_create("out", MFD_CLOEXEC);
        FILE *out = fdopen(copy, "w");
        off_t length;
        int r;

        g_assert_cmpint(write(in, data, size), ==, (ssize_t)size);
        r = export_file(in, "t.kts", format, out, ret, reason);
        fflush(out);
        length = lseek(copy, 0, SEEK_END);
        *ret_text = g_malloc0((gsize)length + 1);
        g_assert_cmpint(pread(copy, *ret_text, (size_t)length, 0), ==, length);
        if (ret_size)
                *ret_size = (size_t)length;
        fclose(out);
        close(in);
        return r;
}
