/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is found in real programs: every offset of some functions beside what objdump(1) says, and
 * markers beside readelf(1). */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "consumer/inspect/inspect.h"

#include "consumer/inspect/inspect-marker.h"

typedef struct Fixture {
        char *dir;
        InspectFile file;
        int fd;
} Fixture;

static void set_up(Fixture *f, gconstpointer data _unused_) {
        f->dir = g_dir_make_tmp("ktrace-inspect-XXXXXX", NULL);
        g_assert_nonnull(f->dir);
        f->fd = -1;
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *command = g_strdup_printf("rm -rf -- %s", f->dir);

        if (f->fd >= 0) {
                inspect_close(&f->file);
                close(f->fd);
        }
        g_assert_cmpint(system(command), ==, 0);
        g_free(f->dir);
}

static void use(Fixture *f, const char *path) {
        Reason reason = {};

        if (f->fd >= 0) {
                inspect_close(&f->file);
                close(f->fd);
        }
        f->fd = open(path, O_RDONLY | O_CLOEXEC);
        g_assert_no_errno(f->fd);
        int r = inspect_open(&f->file, f->fd, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
}

static bool has_tool(const char *name) {
        g_autofree char *found = g_find_program_in_path(name);

        if (!found)
                g_test_skip(name);
        return found;
}

static uint64_t to_offset(const Fixture *f, uint64_t address) {
        const Elf64_Phdr *segment = inspect_find_address(&f->file, address, 1);

        g_assert_nonnull(segment);
        return address - segment->p_vaddr + segment->p_offset;
}

/* Addresses where objdump sees instructions begin. */
static GHashTable *disassemble(const char *path, uint64_t start, uint64_t end) {
        g_autofree char *command =
                        g_strdup_printf("objdump -d -w --no-show-raw-insn --start-address=%#" PRIx64
                                        " --stop-address=%#" PRIx64 " %s",
                                        start,
                                        end,
                                        path);
        GHashTable *set = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        FILE *pipe = popen(command, "re");
        char line[512];

        g_assert_nonnull(pipe);
        while (fgets(line, sizeof(line), pipe)) {
                uint64_t address;
                int at = 0;

                if (line[0] == ' ' && sscanf(line, " %" SCNx64 ":%n", &address, &at) == 1 && at > 0)
                        g_hash_table_add(set, g_memdup2(&address, sizeof(address)));
        }
        g_assert_cmpint(pclose(pipe), ==, 0);
        return set;
}

/* Each offset is taken if an instruction begins there, and only then. */
static void check_function(Fixture *f, const char *path, uint64_t start, uint64_t end) {
        g_autoptr(GHashTable) set = disassemble(path, start, end);
        unsigned n_taken = 0;

        for (uint64_t address = start; address < end; address++) {
                uint64_t offset = to_offset(f, address);
                Reason reason = {};
                UserPlace place;

                f->file.may_read = INSPECT_READ_MAX;
                int r = inspect_offset(&f->file, offset, &place, &reason);
                if (!g_hash_table_contains(set, &address)) {
                        g_assert_cmpint(r, ==, KT_E_FAILED);
                        g_assert_nonnull(strstr(reason.text, "in the middle of an instruction"));
                        continue;
                }
                g_assert_cmpstr(reason.text, ==, "");
                g_assert_cmpint(r, ==, 0);
                g_assert_cmpuint(place.offset, ==, offset);
                g_assert_cmpuint(place.function, <=, offset);
                n_taken++;
        }
        g_assert_cmpuint(n_taken, ==, g_hash_table_size(set));
        g_assert_cmpuint(n_taken, >, 0);
}

/* [start, end) by nm(1); false: no such symbol. */
static bool find_symbol(const char *path, const char *name, uint64_t *start, uint64_t *end) {
        g_autofree char *command = g_strdup_printf("nm -S %s", path);
        FILE *pipe = popen(command, "re");
        char line[512], symbol[256], type;
        uint64_t at, size;
        bool found = false;

        g_assert_nonnull(pipe);
        while (fgets(line, sizeof(line), pipe))
                if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %255s", &at, &size, &type, symbol) ==
                                                4 &&
                                strcmp(symbol, name) == 0) {
                        found = true;
                        *start = at;
                        *end = at + size;
                }
        (void)pclose(pipe); /* of a stripped file: complains */
        return found;
}

static void test_program(Fixture *f, gconstpointer data _unused_) {
        static const char *const names[] = { "main", "probed_add", "probed_bytes", "probed_text" };
        g_autofree char *stripped = g_build_filename(f->dir, "stripped", NULL);
        const char *probed = g_getenv("PROBED");
        uint64_t start, end;

        if (!has_tool("objdump"))
                return;
        g_autofree char *strip = g_strdup_printf("strip -o %s %s", stripped, probed);
        g_assert_cmpint(system(strip), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_assert_true(find_symbol(probed, names[i], &start, &end));
                use(f, probed);
                check_function(f, probed, start, end);
                use(f, stripped);
                check_function(f, stripped, start, end);
        }
}

/* The function that this process has under that name, as the file has it. */
static void check_library(Fixture *f, const char *name) {
        const ElfW(Sym) *symbol = NULL;
        void *where = dlsym(RTLD_DEFAULT, name);
        Dl_info info;

        g_assert_nonnull(where);
        g_assert_true(dladdr1(where, &info, (void **)&symbol, RTLD_DL_SYMENT));
        g_assert_nonnull(symbol);
        uint64_t start = (uint64_t)((char *)where - (char *)info.dli_fbase);
        use(f, info.dli_fname);
        check_function(f, info.dli_fname, start, start + symbol->st_size);
}

static void test_libraries(Fixture *f, gconstpointer data _unused_) {
        static const char *const names[] = {
                "qsort_r", "vfprintf", "getaddrinfo", "malloc", "system", "g_hash_table_insert"
        };

        if (!has_tool("objdump"))
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                check_library(f, names[i]);
}

/* Without .eh_frame the symbols are asked; without both nobody can tell. */
static void test_symbols(Fixture *f, gconstpointer data _unused_) {
        static const char source[] = "int one(int n) { return n * 7 + 1; }\n"
                                     "int two(int n) { return one(n) - 0x12345; }\n";
        static const char *const widths[] = { "-m64", "-m32" };
        g_autofree char *code = g_build_filename(f->dir, "code.c", NULL);
        g_autofree char *program = g_build_filename(f->dir, "program", NULL);
        uint64_t start, end;

        if (!has_tool("gcc") || !has_tool("objdump"))
                return;
        g_assert_true(g_file_set_contents(code, source, -1, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(widths); i++) {
                g_autofree char *compile = g_strdup_printf(
                                "gcc %s -O1 -nostdlib -fno-asynchronous-unwind-tables -Wl,-e,two "
                                "-o %s %s && strip -g %s",
                                widths[i],
                                program,
                                code,
                                program);
                g_autofree char *strip = g_strdup_printf("strip %s", program);
                Reason reason = {};
                UserPlace place;

                if (system(compile) != 0) {
                        g_test_message("no compiler for %s", widths[i]);
                        continue;
                }
                g_assert_true(find_symbol(program, "two", &start, &end));
                use(f, program);
                g_assert_cmpint(f->file.is_64, ==, i == 0);
                check_function(f, program, start, end);
                g_assert_cmpint(system(strip), ==, 0);
                use(f, program);
                g_assert_cmpint(inspect_offset(&f->file, to_offset(f, start), &place, &reason),
                                ==,
                                KT_E_FAILED);
                g_assert_nonnull(strstr(reason.text, "where the function around it begins"));
        }
}

/* The same functions for a processor of 32 bits, found by how they are unwound. */
static void test_32_bits(Fixture *f, gconstpointer data _unused_) {
        static const char source[] = "int one(int n) { return n * 7 + 1; }\n"
                                     "int two(int n) { return one(n) - 0x12345; }\n";
        g_autofree char *code = g_build_filename(f->dir, "code.c", NULL);
        g_autofree char *program = g_build_filename(f->dir, "program", NULL);
        g_autofree char *compile = g_strdup_printf(
                        "gcc -m32 -O0 -nostdlib -fasynchronous-unwind-tables -shared -o %s %s",
                        program,
                        code);
        uint64_t start, end;

        if (!has_tool("gcc") || !has_tool("objdump"))
                return;
        g_assert_true(g_file_set_contents(code, source, -1, NULL));
        if (system(compile) != 0) {
                g_test_skip("no compiler for 32 bits");
                return;
        }
        g_assert_true(find_symbol(program, "two", &start, &end));
        g_autofree char *strip = g_strdup_printf("strip %s", program);
        g_assert_cmpint(system(strip), ==, 0);
        use(f, program);
        check_function(f, program, start, end);
}

static void assert_refused(Fixture *f, uint64_t offset, const char *text) {
        Reason reason = {};
        UserPlace place;

        g_assert_cmpint(inspect_offset(&f->file, offset, &place, &reason), ==, KT_E_FAILED);
        if (!strstr(reason.text, text))
                g_error("'%s' does not have '%s'", reason.text, text);
}

/* What the linker has put between two functions belongs to none. */
static void test_between(Fixture *f, gconstpointer data _unused_) {
        const char *probed = g_getenv("PROBED");
        uint64_t start, end;

        g_assert_true(find_symbol(probed, "probed_add", &start, &end));
        use(f, probed);
        g_assert_cmpuint(end % 16, !=, 0); /* functions begin at multiples of 16 */
        assert_refused(f, to_offset(f, end), "show where the function around it begins");
}

static void test_no_code(Fixture *f, gconstpointer data _unused_) {
        use(f, g_getenv("PROBED"));
        assert_refused(f, 0, "no code of the file lies at offset 0");
        assert_refused(f, f->file.size, "no code of the file lies at offset 0x");
        assert_refused(f, UINT64_MAX, "no code of the file lies at offset 0xffffffffffffffff");
        for (size_t i = 0; i < f->file.n_segments; i++) {
                const Elf64_Phdr *s = &f->file.segments[i];

                if (s->p_type == PT_LOAD && (s->p_flags & PF_W))
                        assert_refused(f, s->p_offset, "no code");
        }
}

static void test_markers(Fixture *f, gconstpointer data _unused_) {
        UserPlace places[USER_PLACES_MAX];
        uint64_t start, end;
        Reason reason = {};
        size_t n = 0;

        use(f, g_getenv("PROBED"));
        int r = inspect_marker(&f->file, "probed:step", places, &n, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpuint(n, >=, 1);
        g_assert_cmpuint(places[0].n_args, ==, 3);
        g_assert_cmpint(places[0].args[0].size, ==, -8);
        g_assert_cmpuint(places[0].args[0].kind, ==, USER_ARG_REGISTER);
        g_assert_cmpint(places[0].args[1].size, ==, 8);
        g_assert_cmpint(places[0].args[2].size, ==, -4);
        g_assert_cmpuint(places[0].args[2].kind, ==, USER_ARG_CONSTANT);
        g_assert_cmpint(places[0].args[2].value, ==, 7);
        g_assert_true(find_symbol(g_getenv("PROBED"), "probed_step_semaphore", &start, &end));
        g_assert_cmpuint(places[0].semaphore, ==, to_offset(f, start));

        g_assert_cmpint(inspect_marker(&f->file, "probed:quiet", places, &n, &reason), ==, 0);
        g_assert_cmpuint(places[0].semaphore, ==, 0);
        g_assert_cmpuint(places[0].n_args, ==, 0);

        static const char *const absent[] = { "probed:ste",
                "probed:steps",
                "probe:step",
                "probed",
                "probed:",
                ":step",
                "",
                "probed:step:" };
        for (size_t i = 0; i < G_N_ELEMENTS(absent); i++) {
                g_assert_cmpint(inspect_marker(&f->file, absent[i], places, &n, &reason),
                                ==,
                                KT_E_FAILED);
                g_assert_nonnull(strstr(reason.text, "has no marker"));
        }
}

typedef struct Note {
        char provider[64], name[64];
        uint64_t location, semaphore;
} Note;

/* As readelf tells them. */
static GArray *read_notes(const char *path) {
        g_autofree char *command = g_strdup_printf("readelf -nW %s 2>/dev/null", path);
        GArray *notes = g_array_new(FALSE, TRUE, sizeof(Note));
        FILE *pipe = popen(command, "re");
        char line[2048];
        Note note = {};

        g_assert_nonnull(pipe);
        while (fgets(line, sizeof(line), pipe)) {
                const char *at = strstr(line, "Provider: ");

                if (at)
                        g_assert_cmpint(sscanf(at, "Provider: %63s", note.provider), ==, 1);
                (void)sscanf(line, " Name: %63s", note.name);
                at = strstr(line, "Semaphore: ");
                if (at && sscanf(line, " Location: %" SCNx64, &note.location) == 1) {
                        g_assert_cmpint(sscanf(at, "Semaphore: %" SCNx64, &note.semaphore), ==, 1);
                        g_array_append_val(notes, note);
                }
        }
        g_assert_cmpint(pclose(pipe), ==, 0);
        return notes;
}

static void check_note(Fixture *f, const Note *note) {
        g_autofree char *name = g_strdup_printf("%s:%s", note->provider, note->name);
        UserPlace places[USER_PLACES_MAX];
        uint64_t offset = to_offset(f, note->location);
        bool found = false;
        Reason reason = {};
        size_t n;

        f->file.may_read = INSPECT_READ_MAX;
        int r = inspect_marker(&f->file, name, places, &n, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        for (size_t i = 0; i < n; i++) {
                if (places[i].offset != offset)
                        continue;
                found = true;
                if (note->semaphore == 0)
                        g_assert_cmpuint(places[i].semaphore, ==, 0);
                else
                        g_assert_cmpuint(places[i].semaphore, ==, to_offset(f, note->semaphore));
        }
        g_assert_true(found);
}

/* Whatever has markers on this machine. */
static void test_others_markers(Fixture *f, gconstpointer data _unused_) {
        static const char *const paths[] = { "/usr/bin/python3",
                "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                "/usr/lib/x86_64-linux-gnu/libpthread.so.0",
                "/usr/lib/x86_64-linux-gnu/libc.so.6" };
        unsigned n_checked = 0;

        if (!has_tool("readelf"))
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                if (access(paths[i], R_OK) < 0)
                        continue;
                g_autoptr(GArray) notes = read_notes(paths[i]);
                use(f, paths[i]);
                for (guint k = 0; k < notes->len; k++)
                        check_note(f, &g_array_index(notes, Note, k));
                n_checked += notes->len;
        }
        g_test_message("%u markers", n_checked);
        if (n_checked == 0)
                g_test_skip("no program here has markers");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, function) \
        g_test_add("/consumer/inspect/" name, Fixture, NULL, set_up, function, tear_down)
        ADD("program", test_program);
        ADD("libraries", test_libraries);
        ADD("symbols", test_symbols);
        ADD("32-bits", test_32_bits);
        ADD("between", test_between);
        ADD("no-code", test_no_code);
        ADD("markers", test_markers);
        ADD("others-markers", test_others_markers);
        return g_test_run();
}
