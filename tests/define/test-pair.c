/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a definition on two events becomes for the kernel, which believes all of it. */

#include <glib.h>
#include <string.h>

#include "define/compile.h"

#include "define/compile-pair.h"

#define COMMON                                                                 \
        "ID: 7\nformat:\n"                                                     \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define END "\nprint fmt: \"\"\n"

static const char from_text[] =
                "name: rings\n" COMMON "\tfield:int door;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:u64 house;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:char who[16];\toffset:24;\tsize:16;\tsigned:0;\n"
                "\tfield:const char * told;\toffset:40;\tsize:8;\tsigned:0;\n"
                "\tfield:void * key;\toffset:48;\tsize:8;\tsigned:0;\n"
                "\tfield:u32 cpu;\toffset:56;\tsize:4;\tsigned:0;\n"
                "\tfield:unsigned long list[4];\toffset:64;\tsize:32;\tsigned:0;\n" END;
static const char to_text[] =
                "name: opens\n" COMMON "\tfield:int which;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:u32 floor;\toffset:12;\tsize:4;\tsigned:0;\n"
                "\tfield:u64 house;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:__data_loc char[] host;\toffset:24;\tsize:4;\tsigned:0;\n"
                "\tfield:long result;\toffset:32;\tsize:8;\tsigned:1;\n" END;

/* keys and args: ends with NULL. */
static int compile(const char *const *keys,
                const char *const *args,
                ProbeForm **ret,
                Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        _cleanup_(format_free_cleanup) Format *from = NULL, *to = NULL;

        g_assert_cmpint(format_parse(from_text, strlen(from_text), &from, NULL), ==, 0);
        g_assert_cmpint(format_parse(to_text, strlen(to_text), &to, NULL), ==, 0);
        definition_set_string(d, "name", "mine", NULL);
        definition_set_string(d, "from", "house:rings", NULL);
        definition_set_string(d, "to", "house:opens", NULL);
        for (; *keys; keys++)
                g_assert_cmpint(definition_add_key(d, *keys, NULL), ==, 0);
        for (; *args; args++)
                g_assert_cmpint(definition_add_arg(d, *args, NULL), ==, 0);
        g_assert_cmpint(definition_complete(d, NULL), ==, 0);
        return probe_compile_pair(d, from, to, ret, reason);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_triggers(void) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *fields = NULL, *from = NULL, *to = NULL;
        const PairPlace place = {
                .from = "house.rings",
                .token = "p0_",
                .event = "ktrace_x_0",
                .clock = "mono",
                .conditions = { NULL, "!(common_flags & 88)" },
                .entries = 128,
        };
        Reason reason = {};

        int r = compile(LIST("door = which", "house"),
                        LIST("$latency",
                                        "from.who",
                                        "key = from.key",
                                        "to.host",
                                        "res = to.result : x64"),
                        &form,
                        &reason);
        if (r != 0)
                g_error("%s", reason.text);
        g_assert_cmpint(probe_pair_to_fields(form, &fields), ==, 0);
        g_assert_cmpstr(fields, ==, "u64 latency; char[] who; u64 key; char[] host; s64 res");
        g_assert_cmpint(probe_pair_to_triggers(form, &place, &from, &to), ==, 0);
        g_assert_cmpstr(from,
                        ==,
                        "hist:keys=door,house:p0_t=common_timestamp:p0_1=who,p0_2=key:size=128:clock=mono");
        g_assert_cmpstr(to,
                        ==,
                        "hist:keys=which,house:p0_d=common_timestamp-$p0_t:p0_3=host,p0_4=result"
                        ":size=128:clock=mono"
                        ":onmatch(house.rings).trace(ktrace_x_0,$p0_d,$p0_1,$p0_2,$p0_3,$p0_4)"
                        " if !(common_flags & 88)");
}

static void test_unit(void) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *from = NULL, *to = NULL;
        const PairPlace place = {
                .from = "a.b", .token = "q", .event = "e", .clock = "boot", .entries = 8
        };

        g_assert_cmpint(compile(LIST("common_pid"), LIST("$latency : us"), &form, NULL), ==, 0);
        g_assert_cmpint(probe_pair_to_triggers(form, &place, &from, &to), ==, 0);
        g_assert_cmpstr(from,
                        ==,
                        "hist:keys=common_pid:qt=common_timestamp.usecs:size=8:clock=boot");
        g_assert_nonnull(strstr(to, ":qd=common_timestamp.usecs-$qt:"));
}

/* The kernel forgets a clock that no time is taken of, and a line is to read back as it was laid.
 */
static void test_no_time(void) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *from = NULL, *to = NULL;
        const PairPlace place = {
                .from = "a.b", .token = "q", .event = "e", .clock = "boot", .entries = 8
        };

        g_assert_cmpint(compile(LIST("common_pid"), LIST("from.who"), &form, NULL), ==, 0);
        g_assert_cmpint(probe_pair_to_triggers(form, &place, &from, &to), ==, 0);
        g_assert_cmpstr(from, ==, "hist:keys=common_pid:q0=who:size=8");
        g_assert_cmpstr(to, ==, "hist:keys=common_pid:size=8:onmatch(a.b).trace(e,$q0)");
}

/* In a session of one's own processes the record says when the first event was. */
static void test_start(void) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL, *with_latency = NULL;
        _cleanup_free_ char *from = NULL, *to = NULL, *from_us = NULL, *to_us = NULL;
        const PairPlace place = { .from = "a.b",
                .token = "q",
                .event = "e",
                .clock = "boot",
                .entries = 8,
                .tells_start = true };

        g_assert_cmpint(compile(LIST("common_pid"), LIST("from.who"), &form, NULL), ==, 0);
        g_assert_cmpstr(probe_pair_get_start(form), ==, "ktrace_from_nsec");
        g_assert_cmpint(probe_pair_to_triggers(form, &place, &from, &to), ==, 0);
        g_assert_cmpstr(from,
                        ==,
                        "hist:keys=common_pid:qt=common_timestamp:q0=who:size=8:clock=boot");
        g_assert_cmpstr(to, ==, "hist:keys=common_pid:size=8:onmatch(a.b).trace(e,$q0,$qt)");
        g_assert_cmpint(compile(LIST("common_pid"), LIST("$latency : us"), &with_latency, NULL),
                        ==,
                        0);
        g_assert_cmpstr(probe_pair_get_start(with_latency), ==, "ktrace_from_usec");
        g_assert_cmpint(probe_pair_to_triggers(with_latency, &place, &from_us, &to_us), ==, 0);
        g_assert_nonnull(strstr(to_us, ".trace(e,$qd,$qt)"));
}

/* As readers know other probes: under its own name, with each field where the kernel has it. */
static void test_show(void) {
        static const char kernel[] =
                        "name: ktrace_x_0\nID: 99\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                        "\tfield:u64 latency;\toffset:8;\tsize:8;\tsigned:0;\n"
                        "\tfield:__data_loc char[] who;\toffset:16;\tsize:8;\tsigned:1;\n"
                        "\tfield:u32 floor;\toffset:24;\tsize:4;\tsigned:0;\n"
                        "\nprint fmt: \"latency=%llu, who=%s\", REC->latency, __get_str(who)\n";
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(compile(LIST("house"),
                                        LIST("$latency", "from.who", "to.floor : x32"),
                                        &form,
                                        NULL),
                        ==,
                        0);
        g_assert_cmpint(probe_pair_show(form, "mine", kernel, &text), ==, 0);
        g_assert_cmpstr(text,
                        ==,
                        "name: mine\nID: 99\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                        "\tfield:u64 latency;\toffset:8;\tsize:8;\tsigned:0;\n"
                        "\tfield:__data_loc char[] who;\toffset:16;\tsize:4;\tsigned:1;\n"
                        "\tfield:u32 floor;\toffset:24;\tsize:4;\tsigned:0;\n"
                        "\nprint fmt: \" latency=%Lu who=\\\"%s\\\" floor=0x%x\", REC->latency, "
                        "__get_str(who), REC->floor\n");
}

static void assert_refused(const char *key, const char *arg, const char *wanted) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        Reason reason = {};

        g_assert_cmpint(compile(LIST(key), LIST(arg), &form, &reason), ==, KT_E_INVALID_SPEC);
        if (!strstr(reason.text, wanted))
                g_error("%s, %s: \"%s\" does not tell \"%s\"", key, arg, reason.text, wanted);
        g_assert_null(form);
}

static void test_keys(void) {
        assert_refused("door = floor",
                        "$latency",
                        "key[0] column 8: door has 4 bytes and a sign, floor has 4: they");
        assert_refused("house = which",
                        "$latency",
                        "key[0] column 9: house has 8 bytes, which has 4 and a sign");
        assert_refused("who = host", "$latency", "key[0] column 1: who is char[16]");
        assert_refused("key = house", "$latency", "key[0] column 1: key is void *");
        assert_refused("cpu = floor", "$latency", "key[0] column 1: cpu is u32");
        assert_refused("list = house", "$latency", "key[0] column 1: list is");
        assert_refused("common_type", "$latency", "key[0] column 1: common_type");
        assert_refused("hous",
                        "$latency",
                        "key[0] column 1: rings has no field hous: did you mean house?");
        assert_refused("door", "$latency", "key[0] column 1: opens has no field door");
        assert_refused("door =", "$latency", "key[0] column 7: expected FIELD, or FIELD");
        assert_refused("door = which = which", "$latency", "expected FIELD, or FIELD");
        assert_refused("door.x", "$latency", "expected FIELD, or FIELD");
        assert_refused("$comm", "$latency", "expected FIELD, or FIELD");
}

static void test_values(void) {
        assert_refused("house",
                        "from.told",
                        "args[0] column 6: the kernel would follow told to any address");
        assert_refused("house", "from.told : x64", "the kernel would follow told");
        assert_refused("house", "from.list", "the kernel carries numbers and text");
        assert_refused("house", "from.who : u8", "it is text");
        assert_refused("house", "from.door : u64", "u64 has 8 bytes, door has 4, and is carried");
        assert_refused("house", "from.house : u32", "u32 has 4 bytes, house has 8, and is carried");
        assert_refused("house", "from.door : string", "door is a number");
        assert_refused("house", "from.door : user", "door is a number");
        assert_refused("house", "from.door.x", "expected from.FIELD, to.FIELD or $latency");
        assert_refused("house", "both.door", "expected from.FIELD, to.FIELD or $latency");
        assert_refused("house", "$comm", "expected from.FIELD, to.FIELD or $latency");
        assert_refused("house", "to.common_pid", "of the second event");
        assert_refused("house", "from.common_type", "of the second event");
        assert_refused("house", "to.floor", "they use nothing of the first event");
        assert_refused("house", "$latency : ms", "a number of ns, or of us with : us");
}

/* By this name a stream's worker knows when a pair began: the user's field would hide ktraced's. */
static void test_start_names(void) {
        assert_refused("house",
                        "ktrace_from_usec = to.house",
                        "args[0] column 1: ktraced keeps the name ktrace_from_usec for itself");
        assert_refused("house",
                        "ktrace_from_nsec = from.house",
                        "args[0] column 1: ktraced keeps the name ktrace_from_nsec for itself");
}

static void test_limits(void) {
        const char *args[] = { "a=from.house",
                "b=from.house",
                "c=from.house",
                "d=from.house",
                "e=from.house",
                "f=from.house",
                "g=from.house",
                "h=to.house",
                "i=to.house",
                "j=to.house",
                "k=to.house",
                "l=to.house",
                "m=to.house",
                "n=to.house",
                "o=to.house",
                NULL };
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        Reason reason = {};

        g_assert_cmpint(compile(LIST("house"), args, &form, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "7 of the first event and 8 of the second"));
        args[13] = NULL;
        g_assert_cmpint(compile(LIST("house"), args, &form, &reason), ==, 0);
        form = probe_form_free(form);
        g_assert_cmpint(compile(LIST("house"),
                                        LIST("a=from.who",
                                                        "b=from.who",
                                                        "c=from.who",
                                                        "d=from.who",
                                                        "e=from.who"),
                                        &form,
                                        &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "5 texts"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pair/triggers", test_triggers);
        g_test_add_func("/pair/unit", test_unit);
        g_test_add_func("/pair/no-time", test_no_time);
        g_test_add_func("/pair/start", test_start);
        g_test_add_func("/pair/show", test_show);
        g_test_add_func("/pair/keys", test_keys);
        g_test_add_func("/pair/values", test_values);
        g_test_add_func("/pair/start-names", test_start_names);
        g_test_add_func("/pair/limits", test_limits);
        return g_test_run();
}
