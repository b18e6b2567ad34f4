/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an argument becomes for the kernel, and where mistakes are reported. */

#include <glib.h>
#include <string.h>

#include "btf-fixture.h"
#include "define/compile.h"
#include "define/show.h"

static Definition *make(const char *on, bool is_return, const char *arg) {
        Definition *d = definition_new();

        g_assert_cmpint(definition_set_string(d, "name", "mine", NULL), ==, 0);
        g_assert_cmpint(definition_set_string(d, "on", on, NULL), ==, 0);
        g_assert_cmpint(definition_set_boolean(d, "return", is_return, NULL), ==, 0);
        if (arg)
                g_assert_cmpint(definition_add_arg(d, arg, NULL), ==, 0);
        return d;
}

static void assert_line(const char *on, bool is_return, const char *arg, const char *wanted) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        _cleanup_(definition_free_cleanup) Definition *d = make(on, is_return, arg);
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *line = NULL;
        Reason reason = {};

        int r = probe_compile(kernel, d, &form, &reason);
        r = r ?: probe_form_to_line(form, "g", d->name, &line, &reason);
        if (r != 0)
                g_error("%s: %s", arg, reason.text);
        g_assert_cmpstr(line, ==, wanted);
}

static void assert_refused(const char *on,
                bool is_return,
                const char *arg,
                unsigned column,
                const char *wanted) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        _cleanup_(definition_free_cleanup) Definition *d = make(on, is_return, arg);
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        char place[64];
        Reason reason = {};

        (void)snprintf(place, sizeof(place), "args[0] column %u: ", column);
        if (probe_compile(kernel, d, &form, &reason) != KT_E_INVALID_SPEC)
                g_error("%s is taken", arg);
        if (!g_str_has_prefix(reason.text, place) || !strstr(reason.text, wanted))
                g_error("\"%s\": \"%s\" is not at %u or does not tell \"%s\"",
                                arg,
                                reason.text,
                                column,
                                wanted);
        g_assert_null(form);
}

#define OPEN(arg, fetch) assert_line("dev_open", false, arg, "p:g/mine dev_open " fetch)

static void test_members(void) {
        OPEN("size", "size=$arg3:u64");
        OPEN("n = dev.count", "n=+0($arg1):s32");
        OPEN("dev->count", "count=+0($arg1):s32");
        OPEN("dev.in.port", "port=+4($arg1):u16");
        OPEN("dev.part", "part=+16($arg1):s32");
        OPEN("dev.next.next.count", "count=+0(+32(+32($arg1))):s32");
        OPEN("dev.list[2]", "list=+56($arg1):s32");
        OPEN("dev.list", "list=+48($arg1):s32[4]");
        OPEN("dev[1].count", "count=+104($arg1):s32");
        OPEN("(*dev).count", "count=+0($arg1):s32");
        OPEN("*dev.next.label : u8", "label=+0(+40(+32($arg1))):u8");
        OPEN("dev.tiny", "tiny=+64($arg1):s8");
        OPEN("dev.on", "on=+65($arg1):u8");
        OPEN("dev", "dev=$arg1:x64");
        OPEN("dev.next", "next=+32($arg1):x64");
        OPEN("((struct inner *)dev.next).port", "port=+0(+32($arg1)):u16");
        OPEN("(struct inner *)dev", "dev=$arg1:x64");
        OPEN("dev.mode", "mode=+24($arg1):b3@0/8");
        OPEN("dev.rest", "rest=+24($arg1):b5@3/8");
}

static void test_text(void) {
        OPEN("path", "path=+0($arg2):string");
        OPEN("path : user", "path=+0($arg2):ustring");
        OPEN("path : x64", "path=$arg2:x64");
        OPEN("dev.label", "label=+0(+40($arg1)):string");
        OPEN("dev.in.tag", "tag=+6($arg1):string");
        OPEN("dev.in.tag[1]", "tag=+7($arg1):s8");
        OPEN("size : string", "size=+0($arg3):string");
        OPEN("$comm", "comm=$comm:string");
}

static void test_types(void) {
        OPEN("dev.in.port : be16", "port=+4($arg1):u16");
        OPEN("dev.count : x32", "count=+0($arg1):x32");
        OPEN("size : u32", "size=$arg3:u32");
        OPEN("dev.count : user", "count=+u0($arg1):s32");
        OPEN("dev.count : user x16", "count=+u0($arg1):x16");
        OPEN("dev.next : symbol", "next=+32($arg1):symbol");
        OPEN("color", "color=$arg4:u32");
        OPEN("%di", "di=%di:x64");
        OPEN("((struct device *)%di).count", "count=+0(%di):s32");
}

/* What is narrower than what it is taken from may be half of an address: only who may take anything
 * may take that. */
static void test_free(void) {
        static const struct {
                const char *arg;
                bool is_free;
        } cases[] = {
                { "dev : u32", true },
                { "dev : x16", true },
                { "dev.next : u32", true },
                { "dev", false },
                { "dev : x64", false },
                { "dev.next", false },
                { "dev.count : x16", false },
                { "color : u8", false },
                { "%di", true },
                { "((struct device *)%di).count", true },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
                _cleanup_(definition_free_cleanup) Definition *d =
                                make("dev_open", false, cases[i].arg);
                _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;

                g_test_message("%s", cases[i].arg);
                g_assert_cmpint(probe_compile(kernel, d, &form, NULL), ==, 0);
                g_assert_cmpint(form->fields[0].is_free, ==, cases[i].is_free);
        }
}

static void test_places(void) {
        assert_line("dev_find", true, "$retval.count", "r:g/mine dev_find count=+0($retval):s32");
        assert_line("dev_find", true, "$retval", "r:g/mine dev_find ret=$retval:x64");
        assert_line("dev_open", true, "$retval", "r:g/mine dev_open ret=$retval:s32");
        assert_line("dev_open+0x10", false, "%ax", "p:g/mine dev_open+16 ax=%ax:x64");
        assert_line("dev_modular", false, "$arg2", "p:g/mine mod:dev_modular arg2=$arg2:x64");
        assert_line("dev_quiet",
                        false,
                        "((struct device *)$arg1).label",
                        "p:g/mine dev_quiet label=+0(+40($arg1)):string");
        assert_line("dev_close", false, NULL, "p:g/mine dev_close");
}

#define REFUSED(arg, column, wanted) assert_refused("dev_open", false, arg, column, wanted)

static void test_refused_words(void) {
        REFUSED(" ", 2, "the name of an argument");
        REFUSED("dev.", 5, "expected the name of a member, got the end");
        REFUSED("dev.count +", 11, "expressions compute nothing");
        REFUSED("&dev.count", 1, "there is no &");
        REFUSED("dev count", 5, ".MEMBER");
        REFUSED("n == size", 4, "the name of an argument");
        REFUSED("(dev", 5, "expected ), got the end");
        REFUSED("size :", 7, "a type");
        REFUSED("size : be", 8, "no type be");
        REFUSED("size : u8 u16", 11, "expected one type");
        REFUSED("dev.list[x]", 10, "a number");
        REFUSED("dev.list[99999999999]", 10, "a number up to");
        REFUSED("(struct device)dev", 15, "only pointers are cast");
        REFUSED("%", 1, "register");
        REFUSED("$", 1, "$retval");
        REFUSED("$arg9", 1, "there is no $arg9");
        REFUSED("ж", 1, "begins like this");
        REFUSED("size ж", 6, "begins like this");
        REFUSED("((((((((((((((size))))))))))))))", 13, "nested");
        REFUSED("*************size", 13, "nested");
}

static void test_refused_types(void) {
        REFUSED("siez", 1, "did you mean size?");
        REFUSED("nothing", 1, "it has dev, path, size, color");
        REFUSED("dev.cuont", 5, "did you mean count?");
        REFUSED("dev.in", 1, "write a dot and the name of a member");
        REFUSED("size.count", 6, "has no members");
        REFUSED("dev.elsewhere.x", 15, "has no members");
        REFUSED("dev.list[4]", 10, "the array has 4 elements");
        REFUSED("size[1]", 6, "neither an array nor a pointer");
        REFUSED("*size", 1, "not a pointer");
        REFUSED("$retval", 1, "--return");
        REFUSED("dev.tiny : u64", 12, "the value there has 1");
        REFUSED("dev.mode : u32", 12, "shares them");
        REFUSED("size : user", 8, "it is not read from memory");
        REFUSED("$comm : u8", 9, "text and has no other type");
        REFUSED("common_pid = size", 1, "keeps the name");
        REFUSED("a234567890123456789012345678901234 = size", 1, "at most 31 bytes");
        REFUSED("(struct nothing *)dev", 9, "describes no struct nothing");
        REFUSED("(struct device *)dev.tiny", 22, "size of a pointer");
        REFUSED("%di.count", 5, "the type before it is unknown");
        REFUSED("dev[9000].next[9000].next[9000].next[9000].next[9000].next.label",
                        1,
                        "longer than the maximum of 63 bytes");
        assert_refused("dev_close", true, "$retval", 1, "returns nothing");
        assert_refused("dev_open+4", false, "size", 1, "where a function begins");
        assert_refused("dev_quiet", false, "size", 1, "has no description");
        assert_refused("dev_by_value", false, "after", 1, "by value");
}

static void test_twice(void) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        _cleanup_(definition_free_cleanup) Definition *d = make("dev_open", false, "dev.count");
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        Reason reason = {};

        g_assert_cmpint(definition_add_arg(d, "dev.next.count", NULL), ==, 0);
        g_assert_cmpint(probe_compile(kernel, d, &form, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "args[1] column 1: args[0] is called count too: write NAME = before one of "
                        "them");
}

static void test_limits(void) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        _cleanup_(definition_free_cleanup) Definition *d = make("dev_open", false, NULL);
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *line = NULL;
        Reason reason = {};
        char text[400];

        memset(text, 'a', sizeof(text));
        text[DEFINITION_ARG_MAX + 1] = '\0';
        g_assert_cmpint(definition_add_arg(d, text, &reason), ==, KT_E_INVALID_SPEC);
        for (unsigned i = 0; i < DEFINITION_ARGS_MAX; i++) {
                (void)snprintf(text, sizeof(text), "a_name_of_some_length_%u = dev.next.count", i);
                g_assert_cmpint(definition_add_arg(d, text, &reason), ==, 0);
        }
        g_assert_cmpint(definition_add_arg(d, "size", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(probe_compile(kernel, d, &form, &reason), ==, 0);
        g_assert_cmpint(probe_form_to_line(form, "g", "mine", &line, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "make two probes"));
}

static void test_shown(void) {
        static const char format[] =
                        "name: mine\nID: 1\nformat:\n\tfield:u16 port;\toffset:8;\tsize:2;\tsigned:0;\n"
                        "\nprint fmt: \"(%lx) port=%u color=%u x=%u\", REC->__probe_ip, REC->port, "
                        "REC->color, REC->x\n";
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        _cleanup_(definition_free_cleanup) Definition *d =
                        make("dev_open", false, "dev.in.port : be16");
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *shown = NULL;

        g_assert_cmpint(definition_add_arg(d, "color", NULL), ==, 0);
        g_assert_cmpint(definition_add_arg(d, "x = dev.count : ip4", NULL), ==, 0);
        g_assert_cmpint(probe_compile(kernel, d, &form, NULL), ==, 0);
        g_assert_cmpint(probe_form_show(form, format, &shown), ==, 0);
        g_assert_nonnull(strstr(shown, "\tfield:__be16 port;"));
        g_assert_nonnull(strstr(shown,
                        "\"(%lx) port=%u color=%s x=%u.%u.%u.%u\", REC->__probe_ip, "
                        "((((REC->port >> 0) & 0xff) << 8) | (((REC->port >> 8) & 0xff) << 0)), "
                        "__print_symbolic(REC->color, { 0, \"RED\" }, { 1, \"GREEN\" }, { 7, "
                        "\"BLUE\" }), ((REC->x >> 0) & 0xff), "));
}

/* The kernel's counts of missed hits are by name: they must be those of ktraced's own probes. */
static void test_own_names(void) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        Reason reason = {};

        g_assert_cmpint(definition_set_string(d, "name", "ktrace_history_done", &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "probes of ktraced itself"));
        g_assert_cmpint(definition_set_string(d, "name", "ktrace_histories", &reason), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/compile/members", test_members);
        g_test_add_func("/compile/text", test_text);
        g_test_add_func("/compile/types", test_types);
        g_test_add_func("/compile/free", test_free);
        g_test_add_func("/compile/places", test_places);
        g_test_add_func("/compile/refused-words", test_refused_words);
        g_test_add_func("/compile/refused-types", test_refused_types);
        g_test_add_func("/compile/twice", test_twice);
        g_test_add_func("/compile/limits", test_limits);
        g_test_add_func("/compile/shown", test_shown);
        g_test_add_func("/compile/own-names", test_own_names);
        return g_test_run();
}
