/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an argument of a probe in a program becomes for the kernel, and where mistakes are reported.
 */

#include <glib.h>
#include <string.h>

#include "define/compile.h"

#include "define/compile-user.h"
#include "interfaces/user-args.h"

#define FILE_PATH "/proc/self/fd/7"
#define PLACE     FILE_PATH ":0x0000000000001136"
#ifdef __x86_64__
#define A1 "%di"
#define A2 "%si"
#define A6 "%r9"
#define R3 "%bx"
#else
#define A1 "%x0"
#define A2 "%x1"
#define A6 "%x5"
#define R3 "%x3"
#endif

static const UserPlace entry = { .offset = 0x1136, .function = 0x1136 };
static const UserPlace inside = { .offset = 0x1136, .function = 0x1130 };
static const UserPlace narrow = { .offset = 0x1136, .function = 0x1136, .is_32bit = 1 };
static UserPlace marker = {
        .offset = 0x1136,
        .function = 0x1130,
        .semaphore = 0x4010,
        .n_args = 5,
        .args = { { .kind = USER_ARG_REGISTER, .size = -8 },
                        { .kind = USER_ARG_MEMORY, .size = 8, .value = -16 },
                        { .kind = USER_ARG_CONSTANT, .size = -4, .value = -7 },
                        { .kind = USER_ARG_OTHER, .size = 8 },
                        { .kind = USER_ARG_MEMORY, .size = 2, .value = 4 } },
};

/* Whatever number it has. */
static void set_registers(UserPlace *place) {
        uint8_t reg = 0;

        while (g_strcmp0(user_register_name(reg), R3 + 1) != 0)
                reg++;
        for (size_t i = 0; i < place->n_args; i++)
                place->args[i].reg = reg;
}

static Definition *make(const char *on, bool is_return, const char *arg) {
        Definition *d = definition_new();

        g_assert_cmpint(definition_set_string(d, "name", "mine", NULL), ==, 0);
        g_assert_cmpint(definition_set_string(d, "on", on, NULL), ==, 0);
        g_assert_cmpint(definition_set_boolean(d, "return", is_return, NULL), ==, 0);
        if (arg)
                g_assert_cmpint(definition_add_arg(d, arg, NULL), ==, 0);
        return d;
}

static int compile(const Definition *d,
                const UserPlace *places,
                size_t n,
                char **ret,
                Reason *reason) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;

        int r = probe_compile_user(d, FILE_PATH, places, n, &form, reason);
        return r ?: probe_form_to_line(form, "g", d->name, ret, reason);
}

static void assert_line(const char *on,
                bool is_return,
                const UserPlace *place,
                const char *arg,
                const char *wanted) {
        _cleanup_(definition_free_cleanup) Definition *d = make(on, is_return, arg);
        _cleanup_free_ char *line = NULL;
        Reason reason = {};

        if (compile(d, place, 1, &line, &reason) != 0)
                g_error("%s: %s", arg, reason.text);
        g_assert_cmpstr(line, ==, wanted);
}

static void assert_refused(const char *on,
                bool is_return,
                const UserPlace *place,
                const char *arg,
                const char *wanted) {
        _cleanup_(definition_free_cleanup) Definition *d = make(on, is_return, arg);
        _cleanup_free_ char *line = NULL;
        Reason reason = {};

        if (compile(d, place, 1, &line, &reason) != KT_E_INVALID_SPEC)
                g_error("%s is taken", arg);
        if (!strstr(reason.text, wanted))
                g_error("%s: \"%s\" does not tell \"%s\"", arg, reason.text, wanted);
        g_assert_null(line);
}

#define ENTRY(arg, fetch)  assert_line("/x:0x1136", false, &entry, arg, "p:g/mine " PLACE " " fetch)
#define RETURN(arg, fetch) assert_line("/x:0x1136", true, &entry, arg, "r:g/mine " PLACE " " fetch)
#define MARKER(arg, fetch) \
        assert_line("/x:p:m", false, &marker, arg, "p:g/mine " PLACE "(0x4010) " fetch)

static void test_functions(void) {
        ENTRY("$arg1", "arg1=" A1 ":x64");
        ENTRY("n = $arg2 : s32", "n=" A2 ":s32");
        ENTRY("$arg6:u8", "arg6=" A6 ":u8");
        ENTRY("$arg1 : string", "arg1=+0(" A1 "):string");
        ENTRY("*$arg1 : string", "arg1=+0(+0(" A1 ")):string");
        ENTRY("$arg1[2] : string", "arg1=+0(+16(" A1 ")):string");
        ENTRY("+16($arg1) : string", "arg1=+16(" A1 "):string");
        ENTRY("+0(+16($arg1)) : string", "arg1=+0(+16(" A1 ")):string");
        ENTRY("-8($arg1) : u32", "arg1=-8(" A1 "):u32");
        ENTRY("+0x10(-8($arg1)) : u32", "arg1=+16(-8(" A1 ")):u32");
        ENTRY("$arg1[3] : u32", "arg1=+12(" A1 "):u32");
        ENTRY("$arg1[3][2] : u16", "arg1=+4(+24(" A1 ")):u16");
        ENTRY("*$arg1", "arg1=+0(" A1 "):x64");
        ENTRY("**$arg1 : s8", "arg1=+0(+0(" A1 ")):s8");
        ENTRY("port = +2($arg2) : be16", "port=+2(" A2 "):u16");
        ENTRY("$comm", "comm=$comm:string");
        ENTRY("$stack1 : u64", "stack1=$stack1:u64");
        RETURN("$retval", "ret=$retval:x64");
        RETURN("$retval : s32", "ret=$retval:s32");
        RETURN("$retval : string", "ret=+0($retval):string");
        assert_line("/x:0x1136", false, &inside, NULL, "p:g/mine " PLACE);
#ifdef __x86_64__
        ENTRY("%rdi : u64", "rdi=%di:u64");
        ENTRY("%r10 : u64", "r10=%r10:u64");
        assert_line("/x:0x1136",
                        false,
                        &inside,
                        "+8(%sp) : s32",
                        "p:g/mine " PLACE " sp=+8(%sp):s32");
#endif
}

static void test_markers(void) {
        MARKER("$arg1", "arg1=" R3 ":s64");
        MARKER("$arg2", "arg2=-16(" R3 "):u64");
        MARKER("$arg2 : string", "arg2=+0(-16(" R3 ")):string");
        MARKER("+8($arg2) : u16", "arg2=+8(-16(" R3 ")):u16");
        MARKER("$arg3", "arg3=\\-7:s32");
        MARKER("level = $arg3 : u8", "level=\\-7:u8");
        MARKER("$arg5", "arg5=+4(" R3 "):u16");
        /* All but the one that cannot be taken. */
        MARKER(NULL, "arg1=" R3 ":s64 arg2=-16(" R3 "):u64 arg3=\\-7:s32 arg5=+4(" R3 "):u16");
}

static void test_places(void) {
        _cleanup_(definition_free_cleanup) Definition *d = make("/x:p:m", false, NULL);
        UserPlace places[] = {
                { .offset = 0x1000,
                                .n_args = 1,
                                .args = { { .kind = USER_ARG_CONSTANT, .size = -4, .value = 1 } } },
                { .offset = 0x1010,
                                .n_args = 1,
                                .args = { { .kind = USER_ARG_REGISTER, .size = 8 } } },
                { .offset = 0x1020,
                                .n_args = 1,
                                .args = { { .kind = USER_ARG_MEMORY, .size = 8 } } },
        };
        _cleanup_free_ char *line = NULL, *none = NULL;
        Reason reason = {};

        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                set_registers(&places[i]);
        g_assert_cmpint(compile(d, places, ELEMENTSOF(places), &line, &reason), ==, 0);
        g_assert_cmpstr(line,
                        ==,
                        "p:g/mine " FILE_PATH ":0x0000000000001000 arg1=\\1:u64\n"
                        "p:g/mine " FILE_PATH ":0x0000000000001010 arg1=" R3 ":u64\n"
                        "p:g/mine " FILE_PATH ":0x0000000000001020 arg1=+0(" R3 "):u64");
        places[2].args[0].size = 4;
        g_assert_cmpint(compile(d, places, ELEMENTSOF(places), &none, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "it is u64 at one place of the marker and u32"));
        places[2].n_args = 0;
        g_assert_cmpint(compile(d, places, ELEMENTSOF(places), &none, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "1 arguments at one place and 0 at another"));
}

static void test_refused(void) {
        static const struct {
                const UserPlace *place;
                const char *on, *arg, *wanted;
        } refused[] = {
                { &entry, "/x:0x1136", "$arg7", "args[0] column 1: a function has $arg1 to $arg6" },
                { &entry, "/x:0x1136", "$arg0", "a function has $arg1 to $arg6" },
                { &inside, "/x:0x1136", "$arg1", "this is +6 in one" },
                { &narrow, "/x:0x1136", "$arg1", "has its arguments on the stack" },
                { &entry, "/x:0x1136", "n = $retval", "column 5: $retval is known when" },
                { &entry, "/x:0x1136", "size", "names of a program's arguments are not known" },
                { &entry, "/x:0x1136", "$arg1.size", "column 7: structures of programs" },
                { &entry, "/x:0x1136", "(struct x *)$arg1", "structures of programs" },
                { &entry, "/x:0x1136", "%nosuch", "no register has this name" },
                { &entry, "/x:0x1136", "%", "expected the name of a register after %" },
                { &entry, "/x:0x1136", "$stack999", "there is no $stack999" },
                { &entry, "/x:0x1136", "$arg", "there is no $arg" },
                { &entry, "/x:0x1136", "$arg1 : user string", "here all are" },
                { &entry, "/x:0x1136", "$arg1 : symbol", "symbol is for kernel addresses" },
                { &entry, "/x:0x1136", "+8$arg1", "column 3: expected (" },
                { &entry, "/x:0x1136", "+u8($arg1)", "expected a number" },
                { &entry, "/x:0x1136", "+99999999999($arg1)", "a number up to 2147483647" },
                { &entry, "/x:0x1136", "$arg1 + 1", "or the end, got '+'" },
                { &entry, "/x:0x1136", "@0xffffffff81000000", "no part of a definition" },
                { &entry, "/x:0x1136", "\\1", "no part of a definition" },
                { &entry, "/x:0x1136", "*$comm", "is not a pointer" },
                { &entry, "/x:0x1136", "$comm : u8", "$comm is text and has no other type" },
                { &entry,
                                "/x:0x1136",
                                "+1(+1(+1(+1(+1(+1(+1(+1(+1(+1($arg1))))))))))",
                                "more than 8 pointers" },
                { &entry,
                                "/x:0x1136",
                                "+1000000000(+1000000000(+1000000000(+1000000000(+1($arg1))))) : string",
                                "longer than the maximum of 63 bytes" },
                { &entry, "/x:0x1136", "name\"; = $arg1", "no part of a definition" },
                { &marker, "/x:p:m", "$arg6", "the marker has no $arg6: it has 5 arguments" },
                { &marker, "/x:p:m", "$arg4", "where the kernel cannot take it" },
                { &marker, "/x:p:m", "*$arg5", "is not a pointer" },
                { &marker, "/x:p:m", "$arg5 : string", "is an array or a pointer to text" },
                { &marker, "/x:p:m", "$arg5 : u32", "u32 has 4 bytes, the value there has 2" },
        };

        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                assert_refused(refused[i].on,
                                false,
                                refused[i].place,
                                refused[i].arg,
                                refused[i].wanted);
        assert_refused("/x:0x1136", true, &entry, "$arg1", "when it returns there is $retval");
        assert_refused("/x:0x1136", true, &inside, "$retval", "its beginning, which is 0x1130");
        assert_refused("/x:p:m", true, &marker, NULL, "nothing returns from a marker");
}

static void test_spots(void) {
        static const struct {
                const char *on, *path, *marker;
                uint64_t offset;
        } spots[] = {
                { "/usr/bin/x:0x1136", "/usr/bin/x", NULL, 0x1136 },
                { "/a b/c:d:0xfF", "/a b/c:d", NULL, 0xff },
                { "/x:p:m", "/x", "p:m", 0 },
                { "/a:b:p:m__x", "/a:b", "p:m__x", 0 },
        };

        static const char *const bad[] = { "/x",
                "/x:main",
                "/:0x1",
                ":0x1",
                "/x:0x",
                "/x:0x1g",
                "/x::m",
                "/x:p:",
                "/x:p:m m",
                "/x:0x1111111111111111",
                "/x:p:m(0x1)",
                "x:0x1",
                "/x:p:m\n" };
        UserSpot spot;
        Reason reason;

        for (size_t i = 0; i < ELEMENTSOF(spots); i++) {
                g_assert_cmpint(user_spot_parse(spots[i].on, &spot, NULL), ==, 0);
                g_assert_cmpstr(spot.path, ==, spots[i].path);
                g_assert_cmpstr(spot.marker, ==, spots[i].marker);
                g_assert_cmpuint(spot.offset, ==, spots[i].offset);
                user_spot_clear(&spot);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                if (user_spot_parse(bad[i], &spot, &reason) != KT_E_INVALID_SPEC)
                        g_error("%s is taken", bad[i]);
                g_assert_nonnull(strstr(reason.text, "/PATH:0xOFFSET"));
        }
}

static void test_keys(void) {
        _cleanup_(definition_free_cleanup) Definition *d = make("/x:0x1", false, NULL);
        _cleanup_(definition_free_cleanup) Definition *kernel = make("vfs_read", false, NULL);
        Reason reason = {};

        g_assert_true(definition_is_user(d));
        g_assert_false(definition_is_user(kernel));
        g_assert_cmpint(definition_set_number(d, "file", 0, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(definition_set_number(d, "offset", 1, &reason), ==, KT_E_UNKNOWN_KEY);
        g_assert_cmpint(definition_set_string(d, "file", "/x", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(definition_set_number(d, "file", 3, &reason), ==, 0);
        g_assert_cmpint(definition_set_number(d, "file", 3, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(definition_complete(d, &reason), ==, 0);
        g_assert_cmpint(definition_set_number(kernel, "file", 3, &reason), ==, 0);
        g_assert_cmpint(definition_complete(kernel, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "only with an on that is a path"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        set_registers(&marker);
        g_test_add_func("/user/functions", test_functions);
        g_test_add_func("/user/markers", test_markers);
        g_test_add_func("/user/places", test_places);
        g_test_add_func("/user/refused", test_refused);
        g_test_add_func("/user/spots", test_spots);
        g_test_add_func("/user/keys", test_keys);
        return g_test_run();
}
