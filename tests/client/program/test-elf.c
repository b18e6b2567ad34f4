/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is read of programs: places of symbols and lines, markers, with debug files apart and
 * without; and files that are damaged, which refuse and never crash. */

#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "program/elf-code.h"
#include "program/elf-place.h"
#include "program/elf-reader.h"
#include "program/elf-usdt.h"

typedef struct Fixture {
        const char *probed;
        char *dir;
} Fixture;

/* The second instruction of probed_bytes(), the size of a marker's nop, and a marker's arguments.
 */
#ifdef __x86_64__
#define SECOND    10
#define NOP       1
#define STEP_ARGS "-8@%* 8@* -4@$7"
#else
#define SECOND    4
#define NOP       4
#define STEP_ARGS "-8@x* 8@* -4@7"
#endif

static void set_up(Fixture *f, gconstpointer data _unused_) {
        f->probed = g_getenv("PROBED");
        g_assert_nonnull(f->probed);
        f->dir = g_dir_make_tmp("ktrace-elf-XXXXXX", NULL);
        g_assert_nonnull(f->dir);
}

static void run(Fixture *f, const char *command) {
        g_autofree char *whole = g_strdup_printf("cd %s && %s", f->dir, command);

        g_assert_cmpint(system(whole), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        run(f, "rm -rf -- ./* .debug");
        g_rmdir(f->dir);
        g_free(f->dir);
}

/* A copy that strip(1) and the like may work on. */
static bool can_strip(Fixture *f) {
        g_autofree char *found = g_find_program_in_path("objcopy");
        g_autofree char *command = g_strdup_printf("cp %s probed", f->probed);

        if (!found) {
                g_test_skip("no objcopy");
                return false;
        }
        run(f, command);
        return true;
}

static json_object *resolve(const char *file, const char *where) {
        g_autofree char *text = g_strdup_printf("%s:%s", file, where);
        json_object *list = NULL;
        ElfPlace place = {};
        Reason reason = {};

        g_assert_cmpint(elf_place_parse(text, &place, &reason), ==, 0);
        int r = elf_read(elf_read_place, &place, &list, &reason);
        elf_place_clear(&place);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpuint(json_object_array_length(list), >=, 1);
        return list;
}

static void assert_refused(const char *file, const char *where, int code, const char *pattern) {
        g_autofree char *text = g_strdup_printf("%s:%s", file, where);
        json_object *list = NULL;
        ElfPlace place = {};
        Reason reason = {};

        g_assert_cmpint(elf_place_parse(text, &place, &reason), ==, 0);
        g_assert_cmpint(elf_read(elf_read_place, &place, &list, &reason), ==, code);
        elf_place_clear(&place);
        g_assert_null(list);
        if (!g_pattern_match_simple(pattern, reason.text))
                g_error("'%s' does not match '%s'", reason.text, pattern);
}

static const char *get_text(json_object *list, size_t i, const char *key) {
        return json_object_get_string(
                        json_object_object_get(json_object_array_get_idx(list, i), key));
}

static uint64_t get_number(json_object *list, size_t i, const char *key) {
        return json_object_get_uint64(
                        json_object_object_get(json_object_array_get_idx(list, i), key));
}

/* The offset of the only place. */
static uint64_t get_offset(const char *file, const char *where) {
        _cleanup_json_ json_object *list = resolve(file, where);

        g_assert_cmpuint(json_object_array_length(list), ==, 1);
        return get_number(list, 0, "offset");
}

static void test_place(void) {
        static const struct {
                const char *text;
                const char *file, *symbol, *source;
                unsigned line;
                uint64_t offset;
        } cases[] = {
                { "./x:main", "./x", "main", NULL, 0, 0 },
                { "./x:main+0x10", "./x", "main", NULL, 0, 16 },
                { "./x:a::b(int)+4", "./x", "a::b(int)", NULL, 0, 4 },
                { "./x:a::operator+", "./x", "a::operator+", NULL, 0, 0 },
                { "./x:a::12", "./x", "a::12", NULL, 0, 0 },
                { "./x:src/main.c:12", "./x", NULL, "src/main.c", 12, 0 },
                { "./x:0x1234", "./x", NULL, NULL, 0, 0x1234 },
        };

        static const char *const wrong[] = { "", "x", "x:", ":main", ":" };
        ElfPlace place;

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_assert_cmpint(elf_place_parse(cases[i].text, &place, NULL), ==, 0);
                g_assert_cmpstr(place.file, ==, cases[i].file);
                g_assert_cmpstr(place.symbol, ==, cases[i].symbol);
                g_assert_cmpstr(place.source, ==, cases[i].source);
                g_assert_cmpuint(place.line, ==, cases[i].line);
                g_assert_cmpuint(place.offset, ==, cases[i].offset);
                elf_place_clear(&place);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_cmpint(elf_place_parse(wrong[i], &place, NULL), ==, KT_E_INVALID_SPEC);
        g_assert_true(elf_place_is_meant("./a:b"));
        g_assert_true(elf_place_is_meant("/a:b"));
        g_assert_false(elf_place_is_meant("mod:a"));
        g_assert_false(elf_place_is_meant("tcp_sendmsg"));
        g_assert_false(elf_place_is_meant("mod:a/b"));
}

/* A program by its name alone, where no module of the kernel is called so. */
static void test_path(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *path = g_strdup_printf("relative:/nothing/there:%s", f->dir);
        g_autofree char *wanted = g_strdup_printf("%s/probed:main", f->dir);
        g_autofree char *old = g_strdup(g_getenv("PATH"));

        const struct {
                const char *text, *found;
        } cases[] = {
                { "probed:main", wanted },
                { "./a:b", "./a:b" },
                { "probed", NULL },
                { "no-such-program:main", NULL },
                { ":main", NULL },
                { "kernel:main", NULL },
        };

        g_autofree char *copy = g_strdup_printf("cp %s probed && cp probed kernel", f->probed);
        run(f, copy);
        g_setenv("PATH", path, TRUE);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_free_ char *found = NULL;

                g_assert_cmpint(elf_place_find(cases[i].text, &found), ==, 0);
                g_assert_cmpstr(found, ==, cases[i].found);
        }
        g_setenv("PATH", old, TRUE);
}

static void test_symbols(Fixture *f, gconstpointer data _unused_) {
        uint64_t add = get_offset(f->probed, "probed_add");
        g_autofree char *plain = g_strdup_printf("%#jx", (uintmax_t)add);
        _cleanup_json_ json_object *twice = resolve(f->probed, "probed::twice");
        _cleanup_json_ json_object *at = resolve(f->probed, plain);
        _cleanup_json_ json_object *bytes = resolve(f->probed, "probed_bytes+" G_STRINGIFY(SECOND));

        g_assert_cmpstr(get_text(at, 0, "symbol"), ==, "probed_add");
        g_assert_cmpuint(get_number(at, 0, "function"), ==, get_number(at, 0, "address"));
        g_assert_cmpstr(get_text(twice, 0, "symbol"), ==, "_ZN6probed5twiceEi");
        g_assert_cmpstr(get_text(twice, 0, "name"), ==, "probed::twice(int)");
        g_assert_cmpuint(get_offset(f->probed, "probed::twice(int)"),
                        ==,
                        get_number(twice, 0, "offset"));
        g_assert_cmpuint(get_offset(f->probed, "_ZN6probed5twiceEi"),
                        ==,
                        get_number(twice, 0, "offset"));
        g_assert_cmpuint(get_number(bytes, 0, "into"), ==, SECOND);
        assert_refused(f->probed, "probed_ad", KT_E_NO_SUCH_FUNCTION, "*did you mean probed_add");
        assert_refused(f->probed, "probed_variable", KT_E_NO_SUCH_FUNCTION, "*is a variable");
        assert_refused(f->probed, "probed_inlined", KT_E_NO_SUCH_FUNCTION, "*inlined everywhere*");
        assert_refused(f->probed, "0xfffffff", KT_E_INVALID_SPEC, "*no code lies at 0xfffffff*");
#ifdef __x86_64__ /* the linker of arm64 maps the ELF header with the code */
        assert_refused(f->probed, "1", KT_E_INVALID_SPEC, "*no code lies at 0x1*");
#endif
}

static void test_lines(Fixture *f, gconstpointer data _unused_) {
        _cleanup_json_ json_object *add = resolve(f->probed, "probed_add");
        g_autofree char *line =
                        g_strdup_printf("probed.c:%u", (unsigned)get_number(add, 0, "line"));
        g_autofree char *longer = g_strdup_printf("e2e/%s", line);

        g_assert_true(g_str_has_suffix(get_text(add, 0, "source"), "e2e/probed.c"));
        g_assert_cmpuint(get_offset(f->probed, line), ==, get_number(add, 0, "offset"));
        g_assert_cmpuint(get_offset(f->probed, longer), ==, get_number(add, 0, "offset"));
        assert_refused(f->probed, "robed.c:1", KT_E_FAILED, "*no code of it comes from*");
        assert_refused(f->probed, "probed.c:9999", KT_E_FAILED, "*no code of it comes from*");
}

/* The loader and we agree on where a library's function is. */
static void test_library(Fixture *f _unused_, gconstpointer data _unused_) {
        Dl_info info;

        g_assert_cmpint(dladdr((void *)g_strdup_printf, &info), !=, 0);
        _cleanup_json_ json_object *list = resolve(info.dli_fname, "g_strdup_printf");
        g_assert_cmpuint(get_number(list, 0, "address"),
                        ==,
                        (uint64_t)((const char *)g_strdup_printf - (const char *)info.dli_fbase));
}

static void test_stripped(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *path = g_strdup_printf("%s/probed", f->dir);

        if (!can_strip(f))
                return;
        uint64_t add = get_offset(f->probed, "probed_add");
        g_autofree char *inside = g_strdup_printf("%#jx", (uintmax_t)add + 3);
        run(f, "objcopy --only-keep-debug probed symbols && strip probed");
        assert_refused(path, "probed_add", KT_E_NO_SUCH_FUNCTION, "*it is stripped*");
        assert_refused(path, "probed.c:1", KT_E_FAILED, "*install its debug symbols");
        _cleanup_json_ json_object *at = resolve(path, inside);
        g_assert_cmpuint(get_number(at, 0, "function"), ==, get_number(at, 0, "address") - 3);
        g_assert_null(get_text(at, 0, "symbol"));

        /* .gnu_debuglink */
        run(f, "objcopy --add-gnu-debuglink=symbols probed && mkdir .debug && mv symbols .debug");
        g_assert_cmpuint(get_offset(path, "probed_add"), ==, add);
        g_assert_cmpuint(get_offset(path, "probed::twice"),
                        ==,
                        get_offset(f->probed, "probed::twice"));
}

static void test_markers(Fixture *f, gconstpointer data _unused_) {
        _cleanup_json_ json_object *list = NULL;
        Reason reason = {};

        g_assert_cmpint(elf_read(elf_read_usdt, f->probed, &list, &reason), ==, 0);
        g_assert_cmpuint(json_object_array_length(list), ==, 2);
        g_assert_cmpstr(get_text(list, 0, "provider"), ==, "probed");
        g_assert_cmpstr(get_text(list, 0, "name"), ==, "step");
        g_assert_true(g_pattern_match_simple(STEP_ARGS, get_text(list, 0, "args")));
        g_assert_cmpuint(get_number(list, 0, "semaphore"), !=, 0);
        g_assert_cmpstr(get_text(list, 1, "name"), ==, "quiet");
        g_assert_cmpstr(get_text(list, 1, "args"), ==, "");
        g_assert_cmpuint(get_number(list, 1, "semaphore"), ==, 0);
        g_assert_cmpuint(get_number(list, 1, "offset"), ==, get_number(list, 0, "offset") + NOP);
}

/* A process has what it has mapped, this one no markers that we know of. */
static void test_process(Fixture *f, gconstpointer data _unused_) {
        _cleanup_json_ json_object *list = NULL, *none = NULL;
        g_autofree char *until = g_strdup_printf("%s/end", f->dir);
        char *argv[] = { (char *)f->probed, (char *)"until", until, NULL };
        char number[16];
        Reason reason = {};
        GPid pid;

        if (g_getenv("MESON_EXE_WRAPPER")) {
                g_test_skip("the kernel cannot run programs of this architecture");
                return;
        }
        g_assert_true(g_spawn_async(NULL,
                        argv,
                        NULL,
                        G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                        NULL,
                        NULL,
                        &pid,
                        NULL));
        (void)snprintf(number, sizeof(number), "%d", pid);
        /* Until it has become the program. */
        for (int i = 0; i < 1000; i++) {
                json_object_put(list);
                list = NULL;
                g_assert_cmpint(elf_read(elf_read_usdt, number, &list, &reason), ==, 0);
                if (json_object_array_length(list) >= 2)
                        break;
                g_usleep(10000);
        }
        g_assert_cmpstr(get_text(list, 0, "file"), ==, f->probed);
        g_assert_true(g_file_set_contents(until, "", 0, NULL));
        g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
        g_assert_cmpint(elf_read(elf_read_usdt, number, &none, &reason), ==, KT_E_NO_SUCH_PROCESS);
}

/* Symbols of libraries may have versions; the one that programs are linked to now goes before. */
static void test_versions(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *path = g_strdup_printf("%s/versioned", f->dir);

        if (!can_strip(f))
                return;
        run(f,
                        "objcopy --redefine-sym probed_add=probed@@V_2 --redefine-sym "
                        "probed_text=probed@V_1 --redefine-sym probed_bytes=old@V_1 probed versioned");
        g_assert_cmpuint(get_offset(path, "probed"), ==, get_offset(f->probed, "probed_add"));
        g_assert_cmpuint(get_offset(path, "probed@V_1"), ==, get_offset(f->probed, "probed_text"));
        g_assert_cmpuint(get_offset(path, "old"), ==, get_offset(f->probed, "probed_bytes"));
        assert_refused(path, "probe", KT_E_NO_SUCH_FUNCTION, "*has no function*");
}

static void test_no_program(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *fifo = g_strdup_printf("%s/fifo", f->dir);

        run(f, "mkfifo fifo");
        assert_refused(fifo, "main", KT_E_FAILED, "*is not a regular file");
        assert_refused("/nothing/there", "main", KT_E_FAILED, "*No such file*");
        assert_refused("/etc/passwd", "main", KT_E_FAILED, "*is not a program or library*");
        assert_refused("/dev/null", "main", KT_E_FAILED, "*is not a regular file");
}

/* Cut anywhere, and with bytes changed anywhere: an answer or a refusal, never a crash that gets
 * out. */
static void test_damaged(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *path = g_strdup_printf("%s/damaged", f->dir);
        g_autofree char *whole = NULL;
        GRand *random = g_rand_new_with_seed(1);
        gsize size;

        g_assert_true(g_file_get_contents(f->probed, &whole, &size, NULL));
        for (int i = 0; i < 60; i++) {
                g_autofree char *copy = g_memdup2(whole, size);
                _cleanup_json_ json_object *markers = NULL, *places = NULL;
                ElfPlace place = { .file = path, .symbol = (char *)"probed_add" };
                Reason reason = {};
                gsize cut = i % 2 == 0 ? size : (gsize)g_rand_int_range(random, 0, (gint32)size);

                for (int k = 0; k < 200 && i % 2 == 0; k++) /* headers, most of all */
                        copy[g_rand_int_range(random, 0, k % 4 == 0 ? 4096 : (gint32)size)] =
                                        (char)g_rand_int(random);
                if (i % 2 == 0)
                        memcpy(copy, whole, 24);
                g_assert_true(g_file_set_contents(path, copy, (gssize)cut, NULL));
                g_assert_cmpint(elf_read(elf_read_usdt, path, &markers, &reason), >=, 0);
                g_assert_cmpint(elf_read(elf_read_place, &place, &places, &reason), >=, 0);
        }
        g_rand_free(random);
}

static int read_crash(const void *what _unused_, json_object **ret _unused_, Reason *r _unused_) {
        (void)signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
        return 0;
}

static int read_much(const void *what _unused_, json_object **ret, Reason *reason _unused_) {
        *ret = json_object_new_array();
        for (int i = 0; i < 600000; i++)
                json_object_array_add(*ret, json_object_new_string("text"));
        return 0;
}

static void test_reader(void) {
        json_object *object = NULL;
        Reason reason = {};

        g_assert_cmpint(elf_read(read_crash, NULL, &object, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "ended by signal 11"));
        g_assert_cmpint(elf_read(read_much, NULL, &object, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "contains too much"));
        g_assert_null(object);
}

static void assert_clean(const char *text, const char *wanted) {
        _cleanup_json_ json_object *object = elf_text(text, 32);

        g_assert_cmpstr(json_object_get_string(object), ==, wanted);
}

static void test_text(void) {
        assert_clean("plain ä", "plain ä");
        assert_clean("a\033[2Jb\nc", "a?[2Jb?c");
        assert_clean("\302\233K", "??K");
        assert_clean("\377\376", "??");
        assert_clean("0123456789012345678901234567890123456789",
                        "01234567890123456789012345678901");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/elf/place", test_place);
        g_test_add_func("/elf/reader", test_reader);
        g_test_add_func("/elf/text", test_text);
#define ADD(path, test) g_test_add(path, Fixture, NULL, set_up, test, tear_down)
        ADD("/elf/path", test_path);
        ADD("/elf/symbols", test_symbols);
        ADD("/elf/lines", test_lines);
        ADD("/elf/library", test_library);
        ADD("/elf/stripped", test_stripped);
        ADD("/elf/versions", test_versions);
        ADD("/elf/markers", test_markers);
        ADD("/elf/process", test_process);
        ADD("/elf/no-program", test_no_program);
        ADD("/elf/damaged", test_damaged);
        return g_test_run();
}
