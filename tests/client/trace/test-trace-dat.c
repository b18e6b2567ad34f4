/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads trace.dat version 7 made by hand after trace-cmd.dat.v7(5); version 6 is what test-export
 * writes, and files of trace-cmd itself are read in trace-cmd.sh. */

#include <string.h>
#include <zstd.h>

#include "stream-fixture.h"

#define LINE_TOP \
        "           <...>-41    [000]   100.000001: hello:                number=1 name=somebody text=top\n"
#define LINE_OTHER \
        "           <...>-42    [001]   100.000002: hello:                number=2 name=somebody text=other\n"

static void put(GByteArray *out, uint64_t number, unsigned size) {
        g_byte_array_append(out, (uint8_t *)&number, size);
}

static void put_string(GByteArray *out, const char *text) {
        g_byte_array_append(out, (const uint8_t *)text, (guint)strlen(text) + 1);
}

static void put_text(GByteArray *out, const char *text) {
        put(out, strlen(text), 8);
        g_byte_array_append(out, (const uint8_t *)text, (guint)strlen(text));
}

static void put_packed(GByteArray *out, const void *data, size_t size) {
        size_t bound = ZSTD_compressBound(size);
        g_autofree uint8_t *packed = g_malloc(bound);
        size_t n = ZSTD_compress(packed, bound, data, size, 3);

        put(out, n, 4);
        put(out, size, 4);
        g_byte_array_append(out, packed, (guint)n);
}

/* consumes content; returns where the section starts. */
static uint64_t put_section(GByteArray *out, unsigned id, GByteArray *content, bool is_packed) {
        g_autoptr(GByteArray) body = g_byte_array_new();
        uint64_t offset = out->len;

        if (is_packed)
                put_packed(body, content->data, content->len);
        else
                g_byte_array_append(body, content->data, content->len);
        put(out, id, 2);
        put(out, is_packed, 2);
        put(out, 0, 4);
        put(out, body->len, 8);
        g_byte_array_append(out, body->data, body->len);
        g_byte_array_unref(content);
        return offset;
}

static void put_option(GByteArray *out, unsigned id, const void *data, size_t size) {
        put(out, id, 2);
        put(out, size, 4);
        g_byte_array_append(out, data, (guint)size);
}

static void put_buffer(GByteArray *out,
                GByteArray *options,
                const char *name,
                unsigned cpu,
                const Page *page,
                bool is_packed) {
        g_autoptr(GByteArray) option = g_byte_array_new();
        uint64_t section = out->len, data;

        put(out, 3, 2);
        put(out, is_packed, 2);
        put(out, 0, 4);
        put(out, 100000, 8);
        data = out->len;
        if (is_packed) {
                put(out, 1, 4);
                put_packed(out, page->data, FIXTURE_SUBBUF_SIZE);
        } else
                g_byte_array_append(out, page->data, FIXTURE_SUBBUF_SIZE);

        put(option, section, 8);
        put_string(option, name);
        put_string(option, "[mono]");
        put(option, FIXTURE_SUBBUF_SIZE, 4);
        put(option, 1, 4);
        put(option, cpu, 4);
        put(option, data, 8);
        put(option, is_packed ? out->len - data : FIXTURE_SUBBUF_SIZE, 8);
        put_option(options, 3, option->data, option->len);
}

static GByteArray *header_info(void) {
        GByteArray *content = g_byte_array_new();

        put_string(content, "header_page");
        put_text(content, "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n");
        put_string(content, "header_event");
        put_text(content, "");
        return content;
}

static GByteArray *event_formats(void) {
        GByteArray *content = g_byte_array_new();

        put(content, 1, 4);
        put_string(content, "test");
        put(content, 1, 4);
        put_text(content, fixture_hello_format);
        return content;
}

/* Two buffers, the top one and an instance; clock_options: what else the options hold. */
static GByteArray *dat_new(bool is_packed, const char *name, const GByteArray *more_options) {
        GByteArray *out = g_byte_array_new(), *options = g_byte_array_new();
        uint64_t where;
        Page page;

        g_byte_array_append(out, (const uint8_t *)"\x17\x08\x44tracing", 10);
        put_string(out, "7");
        put(out, 0, 1);
        put(out, 8, 1);
        put(out, FIXTURE_SUBBUF_SIZE, 4);
        put_string(out, name);
        put_string(out, "1.5.4");
        put(out, 0, 8); /* filled in below */
        where = put_section(out, 16, header_info(), is_packed);
        put_option(options, 16, &where, sizeof(where));
        where = put_section(out, 18, event_formats(), is_packed);
        put_option(options, 18, &where, sizeof(where));
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS + 1000, 41, 1, "top");
        put_buffer(out, options, "", 0, &page, is_packed);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS + 2000, 42, 2, "other");
        put_buffer(out, options, "mine", 1, &page, is_packed);
        if (more_options)
                g_byte_array_append(options, more_options->data, more_options->len);
        put_option(options, 0, &(uint64_t){ 0 }, 8);
        where = put_section(out, 0, options, is_packed);
        memcpy(out->data + 10 + 2 + 2 + 4 + strlen(name) + 1 + 6, &where, sizeof(where));
        return out;
}

static void test_v7(gconstpointer data) {
        bool is_packed = GPOINTER_TO_INT(data);
        g_autoptr(GByteArray) dat = dat_new(is_packed, is_packed ? "zstd" : "none", NULL);
        g_autofree char *text = NULL, *json = NULL;
        ExportSummary summary;
        Reason reason = { 0 };

        g_assert_cmpint(export_bytes(dat->data,
                                        dat->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        /* As trace-cmd tells instances apart. */
        g_assert_cmpstr(text, ==, "cpus=1\n      " LINE_TOP "mine: " LINE_OTHER);
        g_assert_true(summary.complete);
        g_assert_cmpint(export_bytes(dat->data,
                                        dat->len,
                                        EXPORT_JSON,
                                        &json,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(
                        json, "{\"ts\":100000002000,\"cpu\":1,\"instance\":\"mine\",\"pid\":42,"));
}

static void test_clock(void) {
        g_autoptr(GByteArray) options = g_byte_array_new();
        g_autoptr(GByteArray) dat = NULL;
        g_autofree char *text = NULL;
        uint8_t tsc[16] = { 0 };
        ExportSummary summary;
        Reason reason = { 0 };

        /* ns = raw * 2 >> 1, then an offset of 5 s. */
        memcpy(tsc, &(uint32_t){ 2 }, 4);
        memcpy(tsc + 4, &(uint32_t){ 1 }, 4);
        put_option(options, 14, tsc, sizeof(tsc));
        put_option(options, 4, "local [x86-tsc]", 16);
        put_option(options, 7, "5000000000", 11);
        dat = dat_new(true, "zstd", options);
        g_assert_cmpint(export_bytes(dat->data,
                                        dat->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        g_assert_nonnull(strstr(text, "[000]   105.000001: hello: "));
}

static void expect_refusal(const GByteArray *dat, const char *what) {
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };

        g_assert_cmpint(export_bytes(dat->data,
                                        dat->len,
                                        EXPORT_TEXT,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        KT_E_FAILED);
        if (!strstr(reason.text, what))
                g_test_fail_printf("\"%s\" lacks \"%s\"", reason.text, what);
}

static void test_refused(void) {
        g_autoptr(GByteArray) zlib = dat_new(false, "zlib", NULL);
        g_autoptr(GByteArray) big = dat_new(false, "none", NULL);
        g_autoptr(GByteArray) new = dat_new(false, "none", NULL);
        g_autoptr(GByteArray) guest_options = g_byte_array_new();
        g_autoptr(GByteArray) guest = NULL;

        expect_refusal(zlib, "zlib");
        big->data[12] = 1;
        expect_refusal(big, "big-endian");
        new->data[10] = '8';
        expect_refusal(new, "version 8");
        put_option(guest_options, 12, "0123456789abcdef", 16);
        guest = dat_new(false, "none", guest_options);
        expect_refusal(guest, "another machine");
}

/* Options that lead to themselves. */
static void test_circle(void) {
        g_autoptr(GByteArray) options = g_byte_array_new();
        g_autoptr(GByteArray) dat = dat_new(false, "none", NULL);
        uint64_t where;

        memcpy(&where, dat->data + 29, sizeof(where));
        memcpy(dat->data + dat->len - sizeof(where), &where, sizeof(where));
        expect_refusal(dat, "circle");
}

static void test_cut(gconstpointer data) {
        bool is_packed = GPOINTER_TO_INT(data);
        g_autoptr(GByteArray) dat = dat_new(is_packed, is_packed ? "zstd" : "none", NULL);

        for (size_t size = 0; size < dat->len; size++) {
                g_autofree char *text = NULL;
                ExportSummary summary;
                Reason reason = { 0 };

                g_assert_cmpint(export_bytes(dat->data,
                                                size,
                                                EXPORT_JSON,
                                                &text,
                                                NULL,
                                                &summary,
                                                &reason),
                                ==,
                                KT_E_FAILED);
        }
}

static void test_not_made_of_it(void) {
        g_autoptr(GByteArray) dat = dat_new(false, "none", NULL);
        g_autofree char *text = NULL;
        ExportSummary summary;
        Reason reason = { 0 };

        g_assert_cmpint(export_bytes(dat->data,
                                        dat->len,
                                        EXPORT_KTS,
                                        &text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "text or json"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/trace-dat/v7/plain", GINT_TO_POINTER(false), test_v7);
        g_test_add_data_func("/trace-dat/v7/zstd", GINT_TO_POINTER(true), test_v7);
        g_test_add_func("/trace-dat/clock", test_clock);
        g_test_add_func("/trace-dat/refused", test_refused);
        g_test_add_func("/trace-dat/circle", test_circle);
        g_test_add_data_func("/trace-dat/cut/plain", GINT_TO_POINTER(false), test_cut);
        g_test_add_data_func("/trace-dat/cut/zstd", GINT_TO_POINTER(true), test_cut);
        g_test_add_func("/trace-dat/not-made-of-it", test_not_made_of_it);
        return g_test_run();
}
