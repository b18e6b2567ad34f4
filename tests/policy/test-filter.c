/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters: what a caller may write, what the kernel gets for it, and what is refused where. That
 * the kernel agrees is asked by tests/policy/test-filter-native.c. */

#include <glib.h>
#include <string.h>

#include "policy/filter.h"

#define COMMON                                                                         \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char text[] = "name: try\nID: 1\nformat:\n" COMMON
                           "\tfield:char name[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                           "\tfield:pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                           "\tfield:u8 byte;\toffset:28;\tsize:1;\tsigned:0;\n"
                           "\tfield:s16 word;\toffset:30;\tsize:2;\tsigned:1;\n"
                           "\tfield:u64 delay;\toffset:32;\tsize:8;\tsigned:0;\n"
                           "\tfield:long state;\toffset:40;\tsize:8;\tsigned:1;\n"
                           "\tfield:bool good;\toffset:48;\tsize:1;\tsigned:0;\n"
                           "\tfield:__data_loc char[] filename;\toffset:52;\tsize:4;\tsigned:0;\n"
                           "\tfield:const char * path;\toffset:56;\tsize:8;\tsigned:0;\n"
                           "\tfield:void * call_site;\toffset:64;\tsize:8;\tsigned:0;\n"
                           "\tfield:__data_loc cpumask_t mask;\toffset:72;\tsize:4;\tsigned:0;\n"
                           "\tfield:u8 saddr[16];\toffset:76;\tsize:16;\tsigned:0;\n"
                           "\tfield:__data_loc u8[] bytes;\toffset:92;\tsize:4;\tsigned:0;\n"
                           "\nprint fmt: \"\"\n";

static Format *format;

static bool is_not_secret(const FormatField *field, void *userdata) {
        return strcmp(field->name, userdata) != 0;
}

static char *compile(const char *filter) {
        FilterContext context = { .event = "try:try",
                .format = format,
                .n_cpus = 8,
                .keeps_addresses = true,
                .has_functions = true };
        Reason reason = {};
        char *result = NULL;
        int r = filter_compile(&context, filter, &result, &reason);

        if (r != 0)
                g_error("'%s': %d, %s", filter, r, reason.text);
        return result;
}

static void assert_compiles(const char *filter, const char *wanted) {
        _cleanup_free_ char *result = compile(filter);
        _cleanup_free_ char *again = compile(result);

        g_assert_cmpstr(result, ==, wanted);
        /* What is canonical stays as it is. */
        g_assert_cmpstr(again, ==, wanted);
}

static void assert_refused(const char *filter, const char *wanted) {
        FilterContext context = { .event = "try:try",
                .format = format,
                .n_cpus = 8,
                .keeps_addresses = true,
                .has_functions = true };
        _cleanup_free_ char *full = g_strconcat("try:try: filter column ", wanted, NULL);
        Reason reason = {};
        char *result = NULL;

        g_assert_cmpint(filter_compile(&context, filter, &result, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, full);
        g_assert_null(result);
}

static void test_comparisons(void) {
        assert_compiles("next_pid==1", "next_pid == 1");
        assert_compiles("  next_pid\t!=  -1 ", "next_pid != -1");
        assert_compiles("delay<1", "delay < 1");
        assert_compiles("delay <=1", "delay <= 1");
        assert_compiles("delay >1", "delay > 1");
        assert_compiles("delay>= 1", "delay >= 1");
        assert_compiles("byte&1", "byte & 0x1");
        assert_compiles("byte&1&&delay&2", "byte & 0x1 && delay & 0x2");
        assert_compiles("common_flags & 88", "common_flags & 0x58");
        assert_compiles("name=='sh'", "name == \"sh\"");
        assert_compiles("filename ~ \"/bin/*\"", "filename ~ \"/bin/*\"");
        assert_compiles("name == 'say \"hi\"'", "name == 'say \"hi\"'");
        assert_compiles("name == \"it's\"", "name == \"it's\"");
        assert_compiles("name == \"\"", "name == \"\"");
        assert_compiles("CPU == 1 || cpu < 4", "CPU == 1 || cpu < 4");
        assert_compiles("comm == 'a' || COMM == 'b'", "comm == \"a\" || COMM == \"b\"");
        assert_compiles("common_pid > 1", "common_pid > 1");
}

static void test_logic(void) {
        assert_compiles("byte == 1 && byte == 2 && byte == 3",
                        "byte == 1 && byte == 2 && byte == 3");
        assert_compiles("(byte == 1 && (byte == 2)) && byte == 3",
                        "byte == 1 && byte == 2 && byte == 3");
        assert_compiles("byte == 1 || byte == 2 && byte == 3",
                        "byte == 1 || (byte == 2 && byte == 3)");
        assert_compiles("(byte == 1 || byte == 2) && byte == 3",
                        "(byte == 1 || byte == 2) && byte == 3");
        assert_compiles("!byte == 1 && byte == 2", "!(byte == 1) && byte == 2");
        assert_compiles("! ! (byte == 1)", "byte == 1");
        assert_compiles("!(!(byte == 1))", "byte == 1");
        assert_compiles("!!!byte == 1", "!(byte == 1)");
        assert_compiles("!(byte == 1 || byte == 2) || byte == 3",
                        "!(byte == 1 || byte == 2) || byte == 3");
        assert_compiles("((((byte == 1))))", "byte == 1");
}

static void test_comforts(void) {
        assert_compiles("pid == 7", "common_pid == 7");
        assert_compiles("delay > 10ms", "delay > 10000000");
        assert_compiles("delay > 5us && delay < 2s", "delay > 5000 && delay < 2000000000");
        assert_compiles("delay > 3ns || delay < 1min || delay == 1h",
                        "delay > 3 || delay < 60000000000 || delay == 3600000000000");
        assert_compiles("delay > 64k && delay < 1M && delay != 1G",
                        "delay > 65536 && delay < 1048576 && delay != 1073741824");
        assert_compiles("delay == 0755 || delay == 0xFf", "delay == 493 || delay == 255");
        assert_compiles("good == true || good == false", "good == 1 || good == 0");
        assert_compiles("good & true", "good & 0x1");
        assert_compiles("state == -2k", "state == -2048");
}

/* A field of the event's own by that name is meant first. */
static void test_pid_of_the_event(void) {
        static const char own[] = "name: own\nID: 2\nformat:\n" COMMON
                                  "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                                  "\tfield:u8 pid;\toffset:24;\tsize:1;\tsigned:0;\n"
                                  "\nprint fmt: \"\"\n";
        _cleanup_(format_free_cleanup) Format *other = NULL;
        _cleanup_free_ char *result = NULL, *none = NULL;
        FilterContext context = { .event = "own:own" };

        g_assert_cmpint(format_parse(own, strlen(own), &other, NULL), ==, 0);
        context.format = other;
        g_assert_cmpint(filter_compile(&context, "pid == 255", &result, NULL), ==, 0);
        g_assert_cmpstr(result, ==, "pid == 255");
        g_assert_cmpint(filter_compile(&context, "pid == 256", &none, NULL), ==, KT_E_INVALID_SPEC);
}

static void test_ranges(void) {
        assert_compiles("byte == 255", "byte == 255");
        assert_compiles("word == -32768 || word == 32767", "word == -32768 || word == 32767");
        assert_compiles("delay == 18446744073709551615", "delay == 18446744073709551615");
        assert_compiles("state == -9223372036854775808", "state == -9223372036854775808");
        assert_compiles("word & 0xffff", "word & 0xffff");
        assert_compiles("state & 0xffffffffffffffff", "state & -1");
        assert_compiles("state & 0x7fffffffffffffff", "state & 0x7fffffffffffffff");
        assert_compiles("byte & -1", "byte & 0xff");
        assert_compiles("delay == -0", "delay == 0");
        assert_refused("byte == 256", "9: 256 is out of the range of byte: 0 to 255");
        assert_refused("byte == -1", "9: -1 is out of the range of byte: 0 to 255");
        assert_refused("byte & 0x100", "8: 0x100 is out of the range of byte: 0 to 255");
        assert_refused("word == 32768", "9: 32768 is out of the range of word: -32768 to 32767");
        assert_refused("delay == 18446744073709551616",
                        "10: 18446744073709551616 is out of the range of delay: 0 to "
                        "18446744073709551615");
        assert_refused("delay == 6000000h",
                        "10: 6000000h is out of the range of delay: 0 to 18446744073709551615");
        assert_refused("CPU == 4294967296",
                        "8: 4294967296 is out of the range of CPU: -2147483648 to 2147483647");
}

static void test_no_numbers(void) {
        assert_refused("byte == 08", "9: '08' is not a number: a leading 0 makes it octal");
        assert_refused("byte == 0x", "9: '0x' is not a number: digits are missing");
        assert_refused("byte == -", "9: '-' is not a number: digits are missing");
        assert_refused("delay == 1.5ms",
                        "10: '1.5ms' is not a number: write a whole number in a smaller unit");
        assert_refused("delay == 5m",
                        "10: '5m' is not a number: units are ns, us, ms, s, min, h and k, M, G");
        assert_refused("byte == 0x1k",
                        "9: '0x1k' is not a number: units are ns, us, ms, s, min, h and k, M, G");
}

static void test_types(void) {
        assert_refused("byte == 'x'", "9: byte wants a number, without quotes");
        assert_refused("byte == bash", "9: byte wants a number");
        assert_refused("good == yes", "9: good wants a number, true or false");
        assert_refused("byte ~ 1", "6: ~ does not fit byte: numbers have == != < <= > >= &");
        assert_refused("name == bash", "9: name wants a string, in quotes");
        assert_refused("name == 1", "9: name wants a string, in quotes");
        assert_refused("name < 'a'", "6: < does not fit name: strings have == != ~");
        assert_refused("comm & 'a'", "6: & does not fit comm: strings have == != ~");
        assert_refused("CPU & 1", "5: & does not fit CPU: it has == != < <= > >=");
        assert_refused("saddr == 1", "1: saddr is of type u8[16], which the kernel cannot compare");
        assert_refused("bytes == 1", "1: bytes is of type u8[], which the kernel cannot compare");
        assert_refused("name == '12345678901234567'",
                        "9: the string has 17 bytes, and name has at most 16");
}

static void test_globs(void) {
        /* The kernel takes a glob with a digit in front for no glob, and ! in front for a not. */
        assert_compiles("name ~ '1*'", "name ~ \"[1]*\"");
        assert_compiles("name ~ '!a*'", "!(name ~ \"a*\")");
        assert_compiles("!name ~ '!a*'", "name ~ \"a*\"");
        assert_compiles("name == '!a*'", "name == \"!a*\"");
        assert_compiles("name ~ '!2'", "!(name ~ \"[2]\")");
        assert_compiles("name ~ '2!a'", "name ~ \"[2]!a\"");
        assert_compiles("name ~ '!!a*'", "!(name ~ \"\\!a*\")");
        /* With a * in front and no other in the middle, it does not stop at the string's end. */
        assert_compiles("name ~ '*ab'", "name ~ \"*\\ab\"");
        assert_compiles("name ~ '!*a'", "!(name ~ \"*\\a\")");
        assert_compiles("name ~ '*ab*'", "name ~ \"*\\ab*\"");
        assert_compiles("name ~ '*a*b'", "name ~ \"*a*b\"");
        assert_compiles("name ~ '**'", "name ~ \"**\"");
        assert_compiles("name ~ '*a?'", "name ~ \"*a?\"");
        assert_compiles("name ~ '*'", "name ~ \"*\"");
        assert_compiles("name ~ \"*\\ab\"", "name ~ \"*\\ab\"");
}

static void test_string_length(void) {
        g_autofree char *longest = g_strnfill(255, 'a'), *over = g_strnfill(256, 'a');
        g_autofree char *fits = g_strdup_printf("filename == \"%s\"", longest);
        g_autofree char *does_not = g_strdup_printf("filename == \"%s\"", over);
        /* The printed string is as long as the kernel allows, too. */
        g_autofree char *glob = g_strdup_printf("name ~ \"1!%s\"", longest + 4);
        g_autofree char *printed = g_strdup_printf("name ~ \"[1]!%s\"", longest + 4);
        g_autofree char *long_glob = g_strdup_printf("name ~ \"1!%s\"", longest + 3);
        g_autofree char *negated = g_strdup_printf("name ~ \"!!%s\"", longest + 1);

        assert_compiles(fits, fits);
        assert_refused(does_not, "13: the string has 256 bytes, the maximum is 255");
        assert_compiles(glob, printed);
        assert_compiles(printed, printed);
        assert_refused(long_glob, "8: the string has 254 bytes, the maximum is 253");
        assert_refused(negated, "8: the string has 256 bytes, the maximum is 255");
}

static void test_fields(void) {
        assert_refused("nxt_pid == 1", "1: no field \"nxt_pid\"; did you mean next_pid?");
        assert_refused("byte == 1 && zzzzz == 1",
                        "14: no field \"zzzzz\"; 'ktracectl events -v try:try' lists them");
        assert_refused("byte.ustring == 1", "5: byte has no .ustring");
        assert_refused("byte.function == kfree", "5: byte has no .function");
        assert_refused("byte.x == 1", "5: byte has no .x");
}

/* Columns count characters, as a reader does. */
static void test_column_behind_characters(void) {
        assert_refused("name == \"äöü\" && x == 1",
                        "18: no field \"x\"; 'ktracectl events -v try:try' lists them");
}

static void test_syntax(void) {
        assert_refused("", "1: expected a field, got the end");
        assert_refused("byte", "5: expected one of == != < <= > >= & ~, got the end");
        assert_refused("byte ==", "8: expected a value, got the end");
        assert_refused("byte == ==", "9: expected a value, got '=='");
        assert_refused("1 == byte", "1: expected a field, got '1'");
        assert_refused("'a' == name", "1: expected a field, got 'a'");
        assert_refused("byte == 1 byte == 2", "11: expected && or ||, got 'byte'");
        assert_refused("byte == 1 and byte == 2", "11: expected && or ||, got 'and'");
        assert_refused("byte == 1 &&", "13: expected a field, got the end");
        assert_refused("(byte == 1", "1: this ( has no )");
        assert_refused("byte == 1)", "10: this ) has no (");
        assert_refused("(byte == 1 2)", "12: expected &&, || or ), got '2'");
        assert_refused("()", "2: expected a field, got ')'");
        assert_refused("byte = 1", "6: filters have no single =: write ==");
        assert_refused("byte == 1 | byte == 2", "11: filters have no single |: write ||");
        assert_refused("name =~ 'a'", "6: filters have no =~: write ~ for globs");
        assert_refused("name !~ 'a'", "6: filters have no !~: write !(FIELD ~ \"GLOB\")");
        assert_refused("byte == 1 ; byte", "11: no part of a filter starts with \";\"");
        assert_refused("name == \"sh", "9: the string that starts here has no \" at its end");
        assert_refused("name == \"a\nb\"", "11: a byte that is not printable text");
        assert_refused("name == \"\xff\"", "10: a byte that is not printable text");
        assert_refused("byte == 1 \xff", "11: no part of a filter starts with \"?\"");
}

static void test_cpus(void) {
        assert_compiles("mask & CPUS{0-3,7}", "mask & CPUS{0-3,7}");
        assert_compiles("mask == CPUS{1}", "mask == CPUS{1}");
        assert_compiles("CPU & CPUS{0,1}", "CPU & CPUS{0,1}");
        assert_compiles("byte & CPUS{0-1}", "byte & CPUS{0-1}");
        assert_refused("mask == 1", "9: mask wants a list of CPUs: CPUS{0-3,7}");
        assert_refused("mask > CPUS{1}", "6: > does not fit mask: CPUS{…} has == != &");
        assert_refused("mask & CPUS{8}", "13: expected a CPU from 0 to 7, as in CPUS{0-3,7}");
        assert_refused("mask & CPUS{3-1}",
                        "13: expected a range of CPUs from the lower to the higher number");
        assert_refused("mask & CPUS{}", "13: expected a CPU from 0 to 7, as in CPUS{0-3,7}");
        assert_refused("mask & CPUS{1",
                        "14: expected numbers and ranges of CPUs up to the next }, as in "
                        "CPUS{0-3,7}");
        assert_refused("mask & CPUS{1-2-3}", "16: expected ',', got '-'");
        assert_refused("CPU == CPUS{0,1}", "5: == does not fit CPU: it holds one CPU, write &");
}

static void test_cpus_of_an_old_kernel(void) {
        FilterContext context = { .event = "try:try", .format = format };
        char *result = NULL;
        Reason reason;

        g_assert_cmpint(filter_compile(&context, "mask & CPUS{1}", &result, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "this kernel has no CPUS"));
}

static void test_only_root(void) {
        FilterContext context = { .event = "try:try",
                .format = format,
                .may_read = is_not_secret,
                .userdata = (void *)"delay" };
        char *result = NULL;
        Reason reason;

        assert_compiles("call_site.function == kfree || byte == 1",
                        "(call_site.function == kfree ) || byte == 1");
        assert_compiles("call_site.function != 0xffffffff81000000",
                        "call_site.function != 0xffffffff81000000");
        assert_refused("call_site.function == 'kfree'",
                        "23: call_site wants the name of a function, without quotes, or an address "
                        "in it");
        assert_refused("call_site.function > kfree",
                        "20: > does not fit call_site: functions have == !=");
        assert_compiles("path == 'x'", "path == \"x\"");
        g_assert_cmpint(filter_compile(&context, "call_site.function == kfree", &result, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpint(filter_compile(&context, "call_site.function == 0x1", &result, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);
        context.keeps_addresses = true; /* a kernel before 6.3 */
        g_assert_cmpint(filter_compile(&context, "call_site.function == kfree", &result, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        context.has_functions = true;
        g_assert_cmpint(filter_compile(&context, "call_site.function == kfree", &result, &reason),
                        ==,
                        0);
        free(result);
        result = NULL;
        /* The kernel would read whatever address a caller passes to a system call. */
        g_assert_cmpint(filter_compile(&context, "path == 'x'", &result, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_null(result);
}

static void test_pointer_of_a_system_call(void) {
        FilterContext context = { .event = "syscalls:sys_enter_openat",
                .format = format,
                .may_read = is_not_secret,
                .userdata = (void *)"delay" };
        _cleanup_free_ char *one = NULL, *two = NULL;

        g_assert_cmpint(filter_compile(&context, "path == '/x'", &one, NULL), ==, 0);
        g_assert_cmpstr(one, ==, "path.ustring == \"/x\"");
        g_assert_cmpint(filter_compile(&context, one, &two, NULL), ==, 0);
        g_assert_cmpstr(one, ==, two);
}

/* Some kernels compare such a set with what lies behind the text. */
static void test_inverted_set(void) {
        FilterContext context = { .event = "try:try",
                .format = format,
                .may_read = is_not_secret,
                .userdata = (void *)"delay" };
        char *result = NULL;
        Reason reason;

        g_assert_cmpint(filter_compile(&context, "name ~ 'a[!b]'", &result, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "filter column 8: a set with [! can match"));
        assert_compiles("name ~ 'a[!b]'", "name ~ \"a[!b]\""); /* by root */
}

static void test_cut_field(void) {
        FilterContext context = { .event = "try:try",
                .key = "where",
                .format = format,
                .may_read = is_not_secret,
                .userdata = (void *)"delay" };
        char *result = NULL;
        Reason reason;

        g_assert_cmpint(filter_compile(&context, "byte == 1 && delay == 1", &result, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);
        g_assert_cmpstr(reason.text,
                        ==,
                        "try:try: where column 14: policy cuts the field delay, and a filter "
                        "would reveal its value");
        /* Nor does a slip in its name tell that there is one. */
        g_assert_cmpint(filter_compile(&context, "dela == 1", &result, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_null(strstr(reason.text, "delay"));
}

static char *repeat(const char *unit, size_t n, const char *separator) {
        GString *string = g_string_new(unit);

        for (size_t i = 1; i < n; i++) {
                g_string_append(string, separator);
                g_string_append(string, unit);
        }
        return g_string_free(string, FALSE);
}

static void test_limits(void) {
        g_autofree char *most = repeat("byte == 1", 128, " && ");
        g_autofree char *many = repeat("byte==1", 129, "&&");
        g_autofree char *open = repeat("(", 32, ""), *close = repeat(")", 32, "");
        g_autofree char *deep = g_strconcat(open, "byte == 1", close, NULL);
        g_autofree char *deeper = g_strconcat(open, "(byte == 1)", close, NULL);
        g_autofree char *parentheses = repeat("(", 10000, ""), *at_most = repeat("(", 2048, "");
        g_autofree char *two_thousand = repeat("!", 2000, "");
        g_autofree char *nots = g_strconcat(two_thousand, "byte == 1", NULL);
        /* What `pid` becomes is longer. */
        g_autofree char *growing = repeat("pid<2000h||CPU<1h", 64, "&&");

        assert_compiles(most, most);
        assert_refused(many, "1153: more than 128 comparisons");
        assert_compiles(deep, "byte == 1");
        assert_refused(deeper, "33: more than 32 nested parentheses");
        assert_refused(at_most, "33: more than 32 nested parentheses");
        assert_refused(parentheses, "1: it has 10000 bytes, the maximum is 2048");
        assert_compiles(nots, "byte == 1");
        assert_refused(growing,
                        "5: 2000h is out of the range of common_pid: -2147483648 to "
                        "2147483647");
}

static void test_result_too_long(void) {
        g_autofree char *growing = repeat("!(delay<9h||delay>9h)", 64, "&&");
        FilterContext context = { .event = "try:try", .format = format };
        char *result = NULL;
        Reason reason;

        g_assert_cmpuint(strlen(growing), <=, FILTER_TEXT_MAX);
        g_assert_cmpint(filter_compile(&context, growing, &result, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "bytes in the form for the kernel"));
        g_assert_null(result);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(format_parse(text, strlen(text), &format, NULL), ==, 0);

        g_test_add_func("/filter/comparisons", test_comparisons);
        g_test_add_func("/filter/logic", test_logic);
        g_test_add_func("/filter/comforts", test_comforts);
        g_test_add_func("/filter/pid-of-the-event", test_pid_of_the_event);
        g_test_add_func("/filter/ranges", test_ranges);
        g_test_add_func("/filter/no-numbers", test_no_numbers);
        g_test_add_func("/filter/types", test_types);
        g_test_add_func("/filter/globs", test_globs);
        g_test_add_func("/filter/string-length", test_string_length);
        g_test_add_func("/filter/fields", test_fields);
        g_test_add_func("/filter/column-behind-characters", test_column_behind_characters);
        g_test_add_func("/filter/syntax", test_syntax);
        g_test_add_func("/filter/cpus", test_cpus);
        g_test_add_func("/filter/cpus-of-an-old-kernel", test_cpus_of_an_old_kernel);
        g_test_add_func("/filter/only-root", test_only_root);
        g_test_add_func("/filter/pointer-of-a-system-call", test_pointer_of_a_system_call);
        g_test_add_func("/filter/cut-field", test_cut_field);
        g_test_add_func("/filter/inverted-set", test_inverted_set);
        g_test_add_func("/filter/limits", test_limits);
        g_test_add_func("/filter/result-too-long", test_result_too_long);

        int status = g_test_run();
        format_free(format);
        return status;
}
