/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <json-c/json.h>
#include <string.h>
#include <zlib.h>

#include "page/page-text.h"
#include "stream-fixture.h"

#define ATTACK       "</script><img src=x onerror=alert(1)>"
#define BLOCK_START  "<script type=\"application/octet-stream\" class=\""
#define BLOCK_END    "</script>"
#define UNPACKED_MAX (64 * 1024)

typedef struct PageData {
        GByteArray *events;
        json_object *meta;
} PageData;

static char *convert(const GByteArray *stream, ExportSummary *ret) {
        Reason reason = {};
        char *text;

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_HTML,
                                        &text,
                                        NULL,
                                        ret,
                                        &reason),
                        ==,
                        0);
        return text;
}

static GByteArray *unpack(const char *text) {
        g_autofree uint8_t *unpacked = g_malloc(UNPACKED_MAX);
        g_autofree guchar *packed = NULL;
        uLongf size = UNPACKED_MAX;
        gsize packed_size;

        packed = g_base64_decode(text, &packed_size);
        g_assert_cmpint(uncompress(unpacked, &size, packed, packed_size), ==, Z_OK);
        return g_byte_array_append(g_byte_array_new(), unpacked, (guint)size);
}

/* Between the texts of the page itself there are only blocks of base64. */
static PageData read_page(const char *page) {
        size_t head = strlen(page_text_head), tail = strlen(page_text_tail);
        PageData data = {};

        g_assert_true(g_str_has_prefix(page, page_text_head));
        g_assert_true(g_str_has_suffix(page, page_text_tail));
        g_autofree char *middle = g_strndup(page + head, strlen(page) - head - tail);
        g_auto(GStrv) lines = g_strsplit(middle, "\n", -1);
        for (char **line = lines; (*line)[0] != '\0'; line++) {
                g_assert_true(g_str_has_prefix(*line, BLOCK_START));
                g_assert_true(g_str_has_suffix(*line, BLOCK_END));
                const char *class = *line + strlen(BLOCK_START);
                char *text = strstr(class, "\">") + 2;
                text[strlen(text) - strlen(BLOCK_END)] = '\0';
                g_assert_cmpuint(strspn(text,
                                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
                                                 "xyz0123456789+/="),
                                ==,
                                strlen(text));
                GByteArray *bytes = unpack(text);
                if (g_str_has_prefix(class, "events"))
                        data.events = bytes;
                else {
                        g_assert_true(g_str_has_prefix(class, "meta"));
                        g_byte_array_append(bytes, (const guint8 *)"", 1);
                        data.meta = json_tokener_parse((const char *)bytes->data);
                        g_byte_array_unref(bytes);
                }
        }
        g_assert_nonnull(data.events);
        g_assert_nonnull(data.meta);
        return data;
}

static void clear_page(PageData *data) {
        g_byte_array_unref(data->events);
        json_object_put(data->meta);
}

static uint32_t word_at(const GByteArray *bytes, size_t place) {
        uint32_t word;

        memcpy(&word, bytes->data + place, sizeof(word));
        return GUINT32_FROM_LE(word);
}

static int64_t get_number(json_object *meta, const char *key) {
        return json_object_get_int64(json_object_object_get(meta, key));
}

static void test_records(void) {
        static const uint8_t times[] = { 0, 0xe8, 0x07, 0xe8, 0x07, 0xe8, 0x07 };
        g_autoptr(GByteArray) stream = stream_new_sample();
        ExportSummary summary;
        g_autofree char *page = convert(stream, &summary);
        PageData data = read_page(page);

        g_assert_cmpuint(summary.n_events, ==, 4);
        g_assert_cmpuint(word_at(data.events, 0), ==, 4);
        g_assert_cmpuint(word_at(data.events, 4), ==, sizeof(times));
        g_assert_cmpmem(data.events->data + 8 + 4 * 8, sizeof(times), times, sizeof(times));
        uint32_t sizes = 0;
        for (size_t i = 0; i < 4; i++)
                sizes += word_at(data.events, 8 + 4 * i);
        g_assert_cmpuint(data.events->len, ==, 8 + 4 * 8 + sizeof(times) + sizes);
        /* The first record begins with its event and its thread. */
        g_assert_cmpuint(word_at(data.events, 8 + 4 * 8 + sizeof(times)) & 0xffff,
                        ==,
                        FIXTURE_HELLO_ID);
        g_assert_cmpuint(word_at(data.events, 8 + 4 * 8 + sizeof(times) + 4), ==, 41);
        g_assert_cmpint(get_number(data.meta, "events"), ==, 4);
        g_assert_cmpuint(json_object_array_length(json_object_object_get(data.meta, "kinds")),
                        ==,
                        2);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(data.meta, "start")),
                        ==,
                        "100000001000");
        clear_page(&data);
}

/* The scripts and the style that may run are those of the page, and nothing of the trace. */
static void test_policy(void) {
        static const char *const elements[][2] = { { "<style>", "</style>" },
                { "\n<script>", "</script>" } };
        g_autofree char *whole = g_strconcat(page_text_head, page_text_tail, NULL);

        g_assert_nonnull(strstr(whole, "content=\"default-src 'none'; script-src 'sha256-"));
        for (size_t i = 0; i < G_N_ELEMENTS(elements); i++) {
                const char *start = strstr(whole, elements[i][0]);
                g_assert_nonnull(start);
                start += strlen(elements[i][0]);
                gsize size = (gsize)(strstr(start, elements[i][1]) - start), n = 32;
                guint8 digest[32];
                GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
                g_checksum_update(sum, (const guchar *)start, (gssize)size);
                g_checksum_get_digest(sum, digest, &n);
                g_checksum_free(sum);
                g_autofree char *text = g_base64_encode(digest, n);
                g_autofree char *hash = g_strdup_printf("'sha256-%s'", text);
                g_assert_nonnull(strstr(whole, hash));
        }
        g_assert_null(strstr(whole, "innerHTML"));
        g_assert_null(strstr(whole, "http:"));
        g_assert_null(strstr(whole, "https:"));
}

static void test_attack(void) {
        g_autoptr(GByteArray) stream = stream_new();
        ExportSummary summary;
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 41, -1, ATTACK);
        stream_add_page(stream, 0, 0, &page);
        stream_add_json(stream, FRAME_COMMANDS, "{\"41\":\"" ATTACK "\"}");
        stream_add_end(stream);
        g_autofree char *text = convert(stream, &summary);
        PageData data = read_page(text);
        json_object *threads = json_object_object_get(data.meta, "threads");

        g_assert_cmpstr(json_object_get_string(json_object_object_get(threads, "41")), ==, ATTACK);
        g_assert_nonnull(memmem(data.events->data, data.events->len, ATTACK, strlen(ATTACK)));
        clear_page(&data);
}

static void test_loss(void) {
        g_autoptr(GByteArray) stream = stream_new();
        uint8_t unknown[12] = { 200 };
        ExportSummary summary;
        Page page;

        stream_add_metadata(stream, 1);
        page_init(&page, FIXTURE_TS);
        page_add(&page, FIXTURE_TS, unknown, sizeof(unknown));
        stream_add_page(stream, 0, 15, &page);
        g_autofree char *text = convert(stream, &summary);
        PageData data = read_page(text);
        const uint8_t *flags = data.events->data + 8 + 2 * 6;

        g_assert_cmpuint(word_at(data.events, 0), ==, 2);
        g_assert_cmpuint(word_at(data.events, 8), ==, 8);
        g_assert_cmpmem(flags, 4, ((uint8_t[]){ 0, 0x80, 0, 0x40 }), 4);
        g_assert_cmpuint(word_at(data.events, 8 + 2 * 8 + 2), ==, 15);
        g_assert_cmpint(get_number(data.meta, "events"), ==, 1);
        g_assert_cmpint(get_number(data.meta, "losses"), ==, 1);
        g_assert_cmpint(get_number(data.meta, "lost"), ==, 15);
        json_object *missing = json_object_object_get(data.meta, "missing");
        g_assert_nonnull(strstr(json_object_get_string(missing), "no end frame"));
        g_assert_false(summary.complete);
        clear_page(&data);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/html/records", test_records);
        g_test_add_func("/html/policy", test_policy);
        g_test_add_func("/html/attack", test_attack);
        g_test_add_func("/html/loss", test_loss);
        return g_test_run();
}
