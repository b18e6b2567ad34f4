/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The receipt of a recording in each format that it can be made into. */
#include <json-c/json.h>
#include <string.h>
#include <sys/mman.h>

#include "stream-fixture.h"

#define CUT      "[{\"field\":\"bytes\",\"how\":\"member\",\"pid\":\"n\"}]"
#define OF_EVENT ",\"filter\":\"n > 3\",\"cut\":" CUT
/* A C1 control character, which terminals obey. */
#define RECEIPT                                                      \
        ",\"session\":{\"id\":\"0123456789abcdef\",\"name\":\"r\"}," \
        "\"receipt\":{\"uid\":1000,\"rule\":\"a\xc2\x9b: b\",\"policy-sha256\":\"ab\"}"

static GByteArray *make_stream(const char *of_event, const char *more) {
        GByteArray *stream = stream_new();
        Page page;

        stream_add_metadata_and(stream, 1, of_event, more);
        page_init(&page, FIXTURE_TS);
        page_add_hello(&page, FIXTURE_TS, 1, 1, "x");
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        return stream;
}

static json_object *read_receipt(const void *data, size_t size, int result) {
        int fd = memfd_create("in", MFD_CLOEXEC);
        json_object *receipt = NULL;
        Reason reason = { 0 };

        g_assert_cmpint(write(fd, data, size), ==, (ssize_t)size);
        g_assert_cmpint(export_receipt(&(ExportSource){ .fd = fd, .name = "t" }, &receipt, &reason),
                        ==,
                        result);
        close(fd);
        return receipt;
}

static const char *get(json_object *o, const char *key, const char *member) {
        json_object *value = json_object_object_get(o, key);

        if (member)
                value = json_object_object_get(value, member);
        return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

static void check(json_object *receipt) {
        g_assert_cmpstr(get(receipt, "uid", NULL), ==, "1000");
        g_assert_cmpstr(get(receipt, "policy-sha256", NULL), ==, "\"ab\"");
        g_assert_cmpstr(get(receipt, "machine", NULL), ==, "\"m\"");
        g_assert_cmpstr(get(receipt, "session", "name"), ==, "\"r\"");
        g_assert_cmpstr(get(receipt, "redactions", NULL), ==, "{\"test:bytes\":" CUT "}");
        g_assert_cmpstr(get(receipt, "filters", "test:bytes"), ==, "\"n > 3\"");
}

static void check_whole(json_object *receipt) {
        check(receipt);
        g_assert_cmpstr(get(receipt, "end", "code"), ==, "\"stopped\"");
        g_assert_nonnull(strstr(get(receipt, "statistics", NULL), "\"recorded\":2"));
}

static void test_stream(void) {
        g_autoptr(GByteArray) stream = make_stream(OF_EVENT, RECEIPT);
        json_object *receipt = read_receipt(stream->data, stream->len, 0);

        check_whole(receipt);
        json_object_put(receipt);
}

static void test_none(void) {
        g_autoptr(GByteArray) stream = make_stream("", "");
        g_autoptr(GByteArray) odd = make_stream("", ",\"receipt\":[1]");

        g_assert_null(read_receipt(stream->data, stream->len, KT_E_FAILED));
        g_assert_null(read_receipt(odd->data, odd->len, KT_E_FAILED));
}

static void test_dat(void) {
        g_autoptr(GByteArray) stream = make_stream(OF_EVENT, RECEIPT);
        g_autofree char *dat = NULL;
        ExportSummary summary;
        Reason reason = { 0 };
        size_t size;

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        EXPORT_DAT,
                                        &dat,
                                        &size,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        json_object *receipt = read_receipt(dat, size, 0);
        check_whole(receipt);
        json_object_put(receipt);
}

static void test_json(void) {
        g_autoptr(GByteArray) stream = make_stream(OF_EVENT, RECEIPT);
        g_autofree char *text = NULL;
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
        g_assert_null(strchr(text, '\x9b'));
        char *line = strstr(text, "{\"receipt\":");
        g_assert_nonnull(line);
        *strchr(line, '\n') = '\0';
        json_object *object = json_tokener_parse(line);
        check(json_object_object_get(object, "receipt"));
        g_assert_cmpstr(json_object_get_string(json_object_object_get(
                                        json_object_object_get(object, "receipt"), "rule")),
                        ==,
                        "a\xc2\x9b: b");
        json_object_put(object);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/receipt/stream", test_stream);
        g_test_add_func("/receipt/none", test_none);
        g_test_add_func("/receipt/dat", test_dat);
        g_test_add_func("/receipt/json", test_json);
        return g_test_run();
}
