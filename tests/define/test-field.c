/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a field of an event becomes for the kernel, and where mistakes are reported. */

#include <glib.h>
#include <string.h>

#include "define/compile.h"

static const char format_text[] =
                "name: door_open\nID: 7\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                "\tfield:u16 port;\toffset:28;\tsize:2;\tsigned:0;\n"
                "\tfield:long state;\toffset:32;\tsize:8;\tsigned:1;\n"
                "\tfield:int dfd;\toffset:40;\tsize:8;\tsigned:0;\n"
                "\tfield:const char * filename;\toffset:48;\tsize:8;\tsigned:0;\n"
                "\tfield:__data_loc char[] path;\toffset:56;\tsize:4;\tsigned:0;\n"
                "\tfield:unsigned long args[6];\toffset:64;\tsize:48;\tsigned:0;\n"
                "\tfield:__data_loc unsigned long[] mask;\toffset:112;\tsize:4;\tsigned:0;\n"
                "\nprint fmt: \"\"\n";

static int compile(const char *arg, ProbeForm **ret, Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        _cleanup_(format_free_cleanup) Format *format = NULL;

        g_assert_cmpint(format_parse(format_text, strlen(format_text), &format, NULL), ==, 0);
        g_assert_cmpint(definition_set_string(d, "name", "mine", NULL), ==, 0);
        g_assert_cmpint(definition_set_string(d, "event", "house:door_open", NULL), ==, 0);
        g_assert_cmpint(definition_add_arg(d, arg, NULL), ==, 0);
        g_assert_cmpint(definition_complete(d, NULL), ==, 0);
        return probe_compile_event(d, format, ret, reason);
}

static void assert_line(const char *arg, const char *wanted, bool is_free) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *line = NULL, *whole = NULL;
        Reason reason = {};

        int r = compile(arg, &form, &reason);
        r = r ?: probe_form_to_line(form, "g", "mine", &line, &reason);
        if (r != 0)
                g_error("%s: %s", arg, reason.text);
        g_assert_cmpint(asprintf(&whole, "e:g/mine house.door_open %s", wanted), >, 0);
        g_assert_cmpstr(line, ==, whole);
        g_assert_cmpint(form->fields[0].is_free, ==, is_free);
}

static void test_types(void) {
        assert_line("pid", "pid=$pid:s32", false);
        assert_line("who = pid", "who=$pid:s32", false);
        assert_line("port", "port=$port:u16", false);
        assert_line("port : be16", "port=$port:u16", false);
        assert_line("state", "state=$state:s64", false);
        assert_line("state : x64", "state=$state:x64", false);
        assert_line("state : symbol", "state=$state:symbol", false);
        assert_line("dfd", "dfd=$dfd:s32", false);
        assert_line("comm", "comm=$comm:string", false);
        assert_line("path", "path=$path:string", false);
        assert_line("filename", "filename=$filename:x64", false);
        assert_line("filename : user", "filename=$filename:ustring", false);
        assert_line("filename : string user", "filename=$filename:ustring", false);
        /* The event has a field of that name, which is another's. */
        assert_line("$comm", "comm=$COMM:string", false);
}

/* What may hold or lead to an address is for those who may have anything. */
static void test_free(void) {
        assert_line("state : u32", "state=$state:u32", true);
        assert_line("filename : x16", "filename=$filename:x16", true);
        assert_line("filename : string", "filename=$filename:string", true);
}

static void assert_refused(const char *arg, unsigned column, const char *wanted) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        char place[64];
        Reason reason = {};

        (void)snprintf(place, sizeof(place), "args[0] column %u: ", column);
        g_assert_cmpint(compile(arg, &form, &reason), ==, KT_E_INVALID_SPEC);
        if (!g_str_has_prefix(reason.text, place) || !strstr(reason.text, wanted))
                g_error("\"%s\": \"%s\" is not at %u or does not tell \"%s\"",
                                arg,
                                reason.text,
                                column,
                                wanted);
        g_assert_null(form);
}

static void test_refused(void) {
        assert_refused("prot", 1, "did you mean port?");
        assert_refused("x = nothing", 5, "door_open has no field nothing: it has comm, pid, port");
        assert_refused("common_pid", 1, "every record already has common_pid");
        assert_refused("pid.x", 5, "a field of an event is taken as it is");
        assert_refused("*pid", 1, "a field of an event is taken as it is");
        assert_refused("args[1]", 6, "a field of an event is taken as it is");
        assert_refused("$retval", 1, "an event has fields, and $comm");
        assert_refused("%di", 1, "an event has fields, and $comm");
        assert_refused("args", 1, "args is unsigned long[6] of 48 bytes");
        assert_refused("mask", 1, "which the kernel does not accept");
        assert_refused("comm : u32", 8, "comm is text");
        assert_refused("comm : user", 8, "the text is in the record");
        assert_refused("pid : string", 7, "text is an array of characters or a pointer to text");
        assert_refused("pid : user", 7, "it is not read from memory");
        assert_refused("pid : u64", 7, "u64 has 8 bytes, pid has 4");
        assert_refused("port : ip4", 8, "ip4 has 4 bytes, port has 2");
        assert_refused("$comm : u8", 9, "$comm is text");
        assert_refused("common_type = pid", 1, "the kernel keeps the name common_type");
        assert_refused("+8(filename)", 1, "expressions compute nothing");
}

static void test_alone(void) {
        static const char *const others[] = { "on", "raw" };

        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                _cleanup_(definition_free_cleanup) Definition *d = definition_new();
                Reason reason = {};

                definition_set_string(d, "name", "mine", NULL);
                definition_set_string(d, "event", "house:door_open", NULL);
                definition_set_string(d, others[i], "p:x y", NULL);
                g_assert_cmpint(definition_complete(d, &reason), ==, KT_E_INVALID_SPEC);
                g_assert_nonnull(strstr(reason.text, "not together with"));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/field/types", test_types);
        g_test_add_func("/field/free", test_free);
        g_test_add_func("/field/refused", test_refused);
        g_test_add_func("/field/alone", test_alone);
        return g_test_run();
}
