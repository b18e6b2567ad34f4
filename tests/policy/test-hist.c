/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Histograms of triggers: what the kernel gets of them, and what it never gets. */
#include <glib.h>
#include <string.h>

#include "policy/hist.h"

#define COMMON                                                                 \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char format_text[] =
                "name: sample\nID: 7\nformat:\n" COMMON
                "\tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:long id;\toffset:24;\tsize:8;\tsigned:1;\n"
                "\tfield:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n"
                "\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n"
                "\tfield:size_t count;\toffset:88;\tsize:8;\tsigned:0;\n"
                "\tfield:char comm[16];\toffset:96;\tsize:16;\tsigned:0;\n"
                "\tfield:__data_loc char[] file;\toffset:112;\tsize:4;\tsigned:0;\n"
                "\nprint fmt: \"%d\", REC->id\n";

static Format *format;

#define WORDS(...) \
        { .items = (char *[]){ __VA_ARGS__ }, .n = ELEMENTSOF(((const char *[]){ __VA_ARGS__ })) }
#define W(text) ((char *)(text))

static bool may_read_but_ip(const FormatField *field, void *userdata) {
        return strcmp(field->name, "ip") != 0;
}

static int compile(const SpecHist *hist, bool is_root, HistText *ret, Reason *reason) {
        const HistContext context = {
                .place = "triggers[3]",
                .event = "a:sample",
                .rule = "a rule",
                .format = format,
                .may_read = is_root ? NULL : may_read_but_ip,
                .keeps_addresses = is_root,
        };

        return hist_compile(&context, hist, ret, reason);
}

static void expect(const SpecHist *hist, const char *command, const char *listed) {
        Reason reason = {};
        HistText text = {};

        int r = compile(hist, true, &text, &reason);
        if (r != 0)
                g_error("%s", reason.text);
        g_assert_cmpstr(text.command, ==, command);
        g_assert_cmpstr(text.listed, ==, listed ?: command);
        hist_text_clear(&text);
}

static void expect_refused(const SpecHist *hist, bool is_root, int code, const char *words) {
        Reason reason = {};
        HistText text = {};

        g_assert_cmpint(compile(hist, is_root, &text, &reason), ==, code);
        g_assert_null(text.command);
        if (!g_str_has_prefix(reason.text, words))
                g_error("'%s' does not begin with '%s'", reason.text, words);
}

static void test_text(void) {
        expect(&(SpecHist){ .keys = WORDS(W("count")) },
                        "keys=count:vals=hitcount:sort=hitcount.descending:size=2048",
                        NULL);
        expect(&(SpecHist){ .keys = WORDS(W("count.log2"), W("common_pid.execname")),
                               .values = WORDS(W("count"), W("id.hex")),
                               .sort = WORDS(W("common_pid.ascending"), W("id.descending")),
                               .size = 131072 },
                        "keys=count.log2,common_pid.execname:vals=hitcount,count,id.hex:"
                        "sort=common_pid,id.descending:size=131072",
                        "keys=count.log2,common_pid.execname:vals=hitcount,count,id.hex:"
                        "sort=common_pid.execname,id.hex.descending:size=131072");
        expect(&(SpecHist){ .keys = WORDS(W("ip.sym-offset"), W("stacktrace"), W("common_cpu")),
                               .size = 128 },
                        "keys=ip.sym-offset,stacktrace,common_cpu:vals=hitcount:"
                        "sort=hitcount.descending:size=128",
                        NULL);
}

static void test_layout(void) {
        const SpecHist hist = { .keys = WORDS(W("comm"), W("file"), W("id")),
                .values = WORDS(W("count")) };
        HistText text = {};

        g_assert_cmpint(compile(&hist, false, &text, NULL), ==, 0);
        g_assert_cmpuint(text.layout.n_keys, ==, 3);
        g_assert_cmpuint(text.layout.keys[0].kind, ==, HIST_STRING);
        g_assert_cmpuint(text.layout.keys[0].size, ==, 16);
        g_assert_cmpuint(text.layout.keys[1].kind, ==, HIST_STRING);
        g_assert_cmpuint(text.layout.keys[1].size, ==, 0);
        g_assert_cmpuint(text.layout.keys[2].kind, ==, HIST_NUMBER);
        g_assert_true(text.layout.keys[2].is_signed);
        g_assert_cmpstr(text.layout.values[0].name, ==, "count");
        g_assert_cmpuint(hist_count_bytes(&text), >, 2048 * 256);
        hist_text_clear(&text);
}

static void test_refused(void) {
        static const struct {
                const char *key;
                const char *words;
        } keys[] = {
                { "conut", "triggers[3].keys[0]: \"conut\": a:sample has no such field, did you mean count" },
                { "args", "triggers[3].keys[0]: \"args\": is neither a number" },
                { "filename", "triggers[3].keys[0]: \"filename\": points to text" },
                { "comm.hex", "triggers[3].keys[0]: \"comm.hex\": is a text" },
                { "id.execname", "triggers[3].keys[0]: \"id.execname\": the kernel only knows" },
                { "id.buckets=", "triggers[3].keys[0]: \"id.buckets=\": is followed by" },
                { "id.buckets=0", "triggers[3].keys[0]: \"id.buckets=0\": is followed by" },
                { "id.buckets=1:pause", "triggers[3].keys[0]" },
                { "id.log2.hex", "triggers[3].keys[0]" },
                { "common_pid.sym", "triggers[3].keys[0]: \"common_pid.sym\": is not an address" },
                { "common_timestamp", "triggers[3].keys[0]: \"common_timestamp\": each record" },
                { "hitcount", "triggers[3].keys[0]: \"hitcount\": is always counted" },
                { "cpu", "triggers[3].keys[0]: \"cpu\": write common_cpu" },
                { "id:onmax($id)", "triggers[3].keys[0]" },
                { "ts0=common_timestamp", "triggers[3].keys[0]" },
                { ".hex", "triggers[3].keys[0]: \".hex\": is not the name of a field" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                expect_refused(&(SpecHist){ .keys = WORDS(W(keys[i].key)) },
                                true,
                                KT_E_INVALID_SPEC,
                                keys[i].words);
        expect_refused(&(SpecHist){ .keys = WORDS(W("id"), W("id.log2")) },
                        true,
                        KT_E_INVALID_SPEC,
                        "triggers[3].keys[1]: \"id.log2\": is already a key");
        /* Their sums are sums of addresses. */
        expect_refused(&(SpecHist){ .keys = WORDS(W("id")), .values = WORDS(W("comm")) },
                        true,
                        KT_E_INVALID_SPEC,
                        "triggers[3].values[0]: \"comm\": is not a number");
        expect_refused(&(SpecHist){ .keys = WORDS(W("id")), .values = WORDS(W("file")) },
                        true,
                        KT_E_INVALID_SPEC,
                        "triggers[3].values[0]: \"file\": is not a number");
        expect_refused(&(SpecHist){ .keys = WORDS(W("id")), .sort = WORDS(W("count")) },
                        true,
                        KT_E_INVALID_SPEC,
                        "triggers[3].sort[0]: \"count\": is neither");
        expect_refused(&(SpecHist){ .keys = WORDS(W("id")), .size = 1000 },
                        true,
                        KT_E_INVALID_SPEC,
                        "triggers[3].size: 1000 is not a power of two: write 1024");
}

static void test_cut(void) {
        static const char *const keys[] = { "ip", "ip.hex", "ip.sym", "ip.log2" };

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                expect_refused(&(SpecHist){ .keys = WORDS(W(keys[i])) },
                                false,
                                KT_E_ACCESS_DENIED,
                                "triggers[3].keys[0]: ");
        expect_refused(&(SpecHist){ .keys = WORDS(W("id")), .values = WORDS(W("ip")) },
                        false,
                        KT_E_ACCESS_DENIED,
                        "triggers[3].values[0]: \"ip\": the field is cut");
        expect_refused(&(SpecHist){ .keys = WORDS(W("stacktrace")) },
                        false,
                        KT_E_ACCESS_DENIED,
                        "triggers[3].keys[0]: \"stacktrace\": only users who may see");
        expect_refused(&(SpecHist){ .keys = WORDS(W("count.sym")) },
                        false,
                        KT_E_ACCESS_DENIED,
                        "triggers[3].keys[0]: \"count.sym\": only users who may see");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(format_parse(format_text, strlen(format_text), &format, NULL), ==, 0);
        g_test_add_func("/policy/hist/text", test_text);
        g_test_add_func("/policy/hist/layout", test_layout);
        g_test_add_func("/policy/hist/refused", test_refused);
        g_test_add_func("/policy/hist/cut", test_cut);
        int r = g_test_run();
        format_free(format);
        return r;
}
