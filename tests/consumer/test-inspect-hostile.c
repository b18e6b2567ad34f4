/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files that were made to break who reads them: cut anywhere, with counts and offsets that lead
 * nowhere, with loops. Each is refused or answered from its own bytes, soon, and nothing crashes.
 */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "consumer/inspect/inspect-marker.h"
#include "consumer/inspect/inspect.h"
#include "interfaces/unwind-table.h"
#include "interfaces/usdt.h"

#define QUESTION_USEC_MAX (G_USEC_PER_SEC * 2) /* as the daemon waits */

typedef struct Fixture {
        uint8_t *bytes; /* of `probed`, to be changed */
        size_t size;
        int fd;
        InspectFile file; /* as it was */
} Fixture;

static void set_up(Fixture *f, gconstpointer data _unused_) {
        Reason reason = {};
        char *contents;

        g_assert_true(g_file_get_contents(g_getenv("PROBED"), &contents, &f->size, NULL));
        f->bytes = (uint8_t *)contents;
        f->fd = memfd_create("program", MFD_CLOEXEC);
        g_assert_no_errno(f->fd);
        g_assert_cmpint(write(f->fd, f->bytes, f->size), ==, f->size);
        g_assert_cmpint(inspect_open(&f->file, f->fd, &reason), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        inspect_close(&f->file);
        close(f->fd);
        g_free(f->bytes);
}

static Elf64_Ehdr *header(Fixture *f) {
        return (Elf64_Ehdr *)(void *)f->bytes;
}

static Elf64_Phdr *segment(Fixture *f, uint32_t type, uint32_t flags) {
        for (size_t i = 0; i < header(f)->e_phnum; i++) {
                Elf64_Phdr *s = (Elf64_Phdr *)(void *)(f->bytes + header(f)->e_phoff) + i;

                if (s->p_type == type && (s->p_flags & flags) == flags)
                        return s;
        }
        g_error("no such segment");
}

static Elf64_Shdr *section(Fixture *f, const char *name) {
        Elf64_Shdr *all = (Elf64_Shdr *)(void *)(f->bytes + header(f)->e_shoff);
        const char *names = (char *)f->bytes + all[header(f)->e_shstrndx].sh_offset;

        for (size_t i = 0; i < header(f)->e_shnum; i++)
                if (strcmp(names + all[i].sh_name, name) == 0)
                        return &all[i];
        g_error("no section %s", name);
}

/* Both questions; refused by one at least. In time. */
static void assert_refused(Fixture *f, const char *pattern) {
        _cleanup_close_ int fd = memfd_create("changed", MFD_CLOEXEC);
        UserPlace places[USER_PLACES_MAX];
        gint64 begin = g_get_monotonic_time();
        Reason reason = {};
        InspectFile file;
        size_t n = 0;

        g_assert_no_errno(fd);
        g_assert_cmpint(write(fd, f->bytes, f->size), ==, f->size);
        int r = inspect_open(&file, fd, &reason);
        if (r == 0) {
                r = inspect_marker(&file, "probed:step", places, &n, &reason);
                inspect_close(&file);
        }
        g_assert_cmpint(g_get_monotonic_time() - begin, <, QUESTION_USEC_MAX);
        g_assert_cmpint(r, ==, KT_E_FAILED);
        if (!g_pattern_match_simple(pattern, reason.text))
                g_error("'%s' is not '%s'", reason.text, pattern);
}

/* The program, cut after each of its first bytes and then in steps. */
static void test_cut(Fixture *f, gconstpointer data _unused_) {
        _cleanup_close_ int fd = memfd_create("cut", MFD_CLOEXEC);
        UserPlace places[USER_PLACES_MAX];
        unsigned n_refused = 0;

        g_assert_no_errno(fd);
        for (size_t size = 0; size < f->size; size += size < 2048 ? 1 : 61) {
                InspectFile file;
                Reason reason = {};
                size_t n = 0;

                g_assert_no_errno(ftruncate(fd, 0));
                g_assert_cmpint(pwrite(fd, f->bytes, size, 0), ==, size);
                int r = inspect_open(&file, fd, &reason);
                if (r == 0) {
                        r = inspect_marker(&file, "probed:step", places, &n, &reason);
                        inspect_close(&file);
                }
                g_assert_cmpint(r, >=, 0);
                n_refused += r != 0;
                /* Markers need the sections, which stand at the end. */
                g_assert_cmpint(r, ==, KT_E_FAILED);
                g_assert_cmpstr(reason.text, !=, "");
        }
        g_assert_cmpuint(n_refused, >, 2048);
}

/* Somebody cuts the file between the two looks. */
static void test_shrinks(Fixture *f, gconstpointer data _unused_) {
        UserPlace places[USER_PLACES_MAX];
        Reason reason = {};
        size_t n;

        g_assert_no_errno(ftruncate(f->fd, 4096));
        g_assert_cmpint(inspect_marker(&f->file, "probed:step", places, &n, &reason),
                        ==,
                        KT_E_FAILED);
        g_assert_no_errno(ftruncate(f->fd, 0));
        g_assert_cmpint(inspect_offset(&f->file, f->file.header.e_entry, places, &reason),
                        ==,
                        KT_E_FAILED);
}

static void test_no_program(Fixture *f, gconstpointer data _unused_) {
        static const struct {
                size_t at;
                uint8_t byte;
                const char *why;
        } changes[] = {
                { 0, 'E', "it is not a program or library*" },
                { EI_CLASS, 0, "*of a machine that is not inspected here" },
                { EI_CLASS, ELFCLASS32, "*of a machine that is not inspected here" },
                { EI_DATA, ELFDATA2MSB, "*of a machine that is not inspected here" },
                { offsetof(Elf64_Ehdr, e_machine),
                                EM_PPC64,
                                "*of a machine that is not inspected here" },
                { offsetof(Elf64_Ehdr, e_type), ET_REL, "it is neither a program nor a library" },
                { offsetof(Elf64_Ehdr, e_type), ET_CORE, "it is neither a program nor a library" },
                { offsetof(Elf64_Ehdr, e_phentsize), 1, "its program headers are damaged" },
                { offsetof(Elf64_Ehdr, e_phnum) + 1, 0xff, "its program headers are damaged" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
                uint8_t before = f->bytes[changes[i].at];

                f->bytes[changes[i].at] = changes[i].byte;
                assert_refused(f, changes[i].why);
                f->bytes[changes[i].at] = before;
        }
}

static void test_headers_beyond(Fixture *f, gconstpointer data _unused_) {
        static const uint64_t offsets[] = { 1 << 20, INT64_MAX, UINT64_MAX, UINT64_MAX - 63 };
        Elf64_Ehdr before = *header(f);

        for (size_t i = 0; i < G_N_ELEMENTS(offsets); i++) {
                header(f)->e_phoff = offsets[i];
                assert_refused(f, "its program headers are damaged");
                *header(f) = before;
                header(f)->e_shoff = offsets[i];
                assert_refused(f, "*");
                *header(f) = before;
        }
        header(f)->e_shnum = UINT16_MAX;
        header(f)->e_shstrndx = UINT16_MAX - 1;
        assert_refused(f, "the file's markers are damaged");
        *header(f) = before;
        header(f)->e_shentsize = 1;
        assert_refused(f, "the file's markers are damaged");
}

static void test_segments_beyond(Fixture *f, gconstpointer data _unused_) {
        Elf64_Phdr *code = segment(f, PT_LOAD, PF_X), before = *code;

        code->p_filesz = f->size;
        assert_refused(f, "its program headers are damaged");
        *code = before;
        code->p_offset = UINT64_MAX - 8;
        assert_refused(f, "its program headers are damaged");
        *code = before;
        code->p_vaddr = UINT64_MAX - 8; /* nothing of it can be found by address */
        assert_refused(f, "*");
        *code = before;
        code->p_flags = PF_R;
        assert_refused(f, "no code of the file lies at offset *");
}

static void test_sections_beyond(Fixture *f, gconstpointer data _unused_) {
        static const char *const names[] = { ".shstrtab", USDT_SECTION };
        static const uint64_t numbers[] = { 1 << 21, INT64_MAX, UINT64_MAX };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(numbers); k++) {
                        Elf64_Shdr *s = section(f, names[i]), before = *s;

                        s->sh_size = numbers[k];
                        assert_refused(f, "*");
                        *s = before;
                        s->sh_offset = numbers[k];
                        assert_refused(f, "*");
                        *s = before;
                }
        /* A name behind all names. */
        Elf64_Shdr *s = section(f, USDT_SECTION);
        s->sh_name = UINT32_MAX;
        assert_refused(f, "the file has no marker probed:step");
}

/* What unwinding is reported leads elsewhere, or in a circle. */
static void test_frames(Fixture *f, gconstpointer data _unused_) {
        Elf64_Shdr *table = section(f, UNWIND_TABLE_SECTION), *frames = section(f, ".eh_frame");
        Elf64_Phdr *where = segment(f, PT_GNU_EH_FRAME, 0), before = *where;
        uint32_t n;

        where->p_filesz = UINT64_MAX;
        assert_refused(f, "*too much of the file would have to be read");
        *where = before;
        where->p_offset = f->size - 1;
        assert_refused(f, "*the file is damaged there");
        *where = before;

        /* Each function's frame is the table itself. */
        memcpy(&n, f->bytes + table->sh_offset + 8, sizeof(n));
        g_assert_cmpuint(table->sh_size, >=, 12 + 8 * n);
        g_autofree uint8_t *saved = g_memdup2(f->bytes + table->sh_offset, table->sh_size);
        for (uint32_t i = 0; i < n; i++)
                memset(f->bytes + table->sh_offset + 12 + 8 * i + 4, 0, 4);
        assert_refused(f, "*the file is damaged there");
        memcpy(f->bytes + table->sh_offset, saved, table->sh_size);

        /* Each function begins elsewhere than the table says. */
        for (uint32_t i = 0; i < n; i++) {
                uint64_t entry = table->sh_offset + 12 + UINT64_C(8) * i;
                int32_t distance;

                memcpy(&distance, f->bytes + entry + 4, sizeof(distance));
                f->bytes[table->sh_offset + (uint64_t)(int64_t)distance + 8]++;
        }
        assert_refused(f, "*the file is damaged there");

        /* Lengths and kinds of what is said are all the same byte. */
        static const uint8_t bytes[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
        for (size_t i = 0; i < G_N_ELEMENTS(bytes); i++) {
                memset(f->bytes + frames->sh_offset, bytes[i], frames->sh_size);
                assert_refused(f, "*the file is damaged there");
        }
}

/* Notes of the same name without end, each leading to the longest function that may be. */
static void test_many_notes(Fixture *f, gconstpointer data _unused_) {
        const size_t big = 6 << 20;

        static const struct {
                Elf64_Nhdr header;
                char owner[8];
                uint64_t location, base, semaphore;
                char texts[16];
        } note = {
                .header = { .n_namesz = 8, .n_descsz = 40, .n_type = 3 },
                .owner = "stapsdt",
                .texts = "probed\0step\0",
        };

        _cleanup_free_ uint8_t *grown = realloc(f->bytes, f->size + big);
        g_assert_nonnull(grown);
        f->bytes = grown;
        Elf64_Phdr *code = segment(f, PT_LOAD, PF_X);
        Elf64_Shdr *notes = section(f, USDT_SECTION);
        uint64_t location = code->p_vaddr;
        size_t n = 0;

        for (size_t at = 0; at + sizeof(note) <= INSPECT_NOTES_MAX - 4096;
                        at += sizeof(note), n++) {
                memcpy(f->bytes + f->size + at, &note, sizeof(note));
                location = code->p_vaddr + n % code->p_filesz;
                memcpy(f->bytes + f->size + at + offsetof(typeof(note), location),
                                &location,
                                sizeof(location));
        }
        notes->sh_offset = f->size;
        notes->sh_size = n * sizeof(note);
        f->size += big;
        assert_refused(f, "*");
        notes = section(f, USDT_SECTION);
        notes->sh_size = INSPECT_NOTES_MAX + 1;
        assert_refused(f, "the file has too many markers");
        grown = NULL; /* the fixture's */
}

/* A counter that is no data of the program. */
static void test_semaphores(Fixture *f, gconstpointer data _unused_) {
        const Elf64_Shdr *notes = section(f, USDT_SECTION);
        const Elf64_Phdr *last = segment(f, PT_LOAD, PF_W);
        Elf64_Phdr *code = segment(f, PT_LOAD, PF_X);
        const uint64_t wrong[] = { 1,
                code->p_vaddr,
                code->p_vaddr + code->p_filesz - 2,
                last->p_vaddr + last->p_filesz,
                last->p_vaddr + last->p_filesz - 1,
                last->p_vaddr - 2,
                UINT64_MAX,
                UINT64_MAX - 1,
                INT64_MAX };
        uint8_t *at = f->bytes + notes->sh_offset;
        size_t step = 0;
        UsdtNote note;

        /* That of probed:step is the first with one. */
        while (usdt_note_next(at, notes->sh_size, true, &step, &note) == 1 && note.semaphore == 0)
                ;
        uint8_t *number = (uint8_t *)(uintptr_t)note.provider - sizeof(uint64_t);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                memcpy(number, &wrong[i], sizeof(wrong[i]));
                assert_refused(f, "the file's markers are damaged");
        }
        code->p_flags |= PF_W; /* code that may be written is code */
        memcpy(number, &code->p_vaddr, sizeof(code->p_vaddr));
        assert_refused(f, "the file's markers are damaged");
}

/* A file of the largest size, with nothing in it. */
static void test_sparse(Fixture *f, gconstpointer data _unused_) {
        UserPlace places[USER_PLACES_MAX];
        Reason reason = {};
        InspectFile file;
        size_t n;

        /* The table of functions is all of it. */
        Elf64_Phdr *table = segment(f, PT_GNU_EH_FRAME, 0), *code = segment(f, PT_LOAD, PF_X);
        table->p_offset = code->p_offset = 0;
        table->p_filesz = code->p_filesz = INT64_C(1) << 40;
        g_assert_cmpint(pwrite(f->fd, f->bytes, f->size, 0), ==, f->size);
        g_assert_no_errno(ftruncate(f->fd, INT64_C(1) << 41));
        gint64 begin = g_get_monotonic_time();
        g_assert_cmpint(inspect_open(&file, f->fd, &reason), ==, 0);
        g_assert_cmpint(inspect_offset(&file, INT64_C(1) << 39, places, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "too much of the file"));
        g_assert_cmpint(inspect_marker(&file, "probed:step", places, &n, &reason), ==, KT_E_FAILED);
        inspect_close(&file);
        g_assert_cmpint(g_get_monotonic_time() - begin, <, QUESTION_USEC_MAX);
}

/* What one question may read of a file. */
static void test_quota(Fixture *f, gconstpointer data _unused_) {
        UserPlace places[USER_PLACES_MAX];
        Reason reason = {};
        size_t n;

        f->file.may_read = 10000;
        g_assert_cmpint(inspect_marker(&f->file, "probed:step", places, &n, &reason), ==, 0);
        g_assert_cmpuint(f->file.may_read, <, 9000);
        uint64_t offset = places[0].offset;
        f->file.may_read = 1000;
        g_assert_cmpint(inspect_marker(&f->file, "probed:step", places, &n, &reason),
                        ==,
                        KT_E_FAILED);
        g_assert_cmpstr(reason.text, ==, "the file has too many markers");
        f->file.may_read = 0;
        g_assert_cmpint(inspect_offset(&f->file, offset, places, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "too much of the file would have to be read"));
        f->file.may_read = 8192; /* the table is there already */
        g_assert_cmpint(inspect_offset(&f->file, offset, places, &reason), ==, 0);
}

/* Functions whose bytes are no instructions. */
static void test_no_instructions(Fixture *f, gconstpointer data _unused_) {
        const Elf64_Shdr *text = section(f, ".text");

        memset(f->bytes + text->sh_offset, 0x06, text->sh_size); /* push %es: not in 64 bits */
        assert_refused(f, "*cannot be decoded");
        memset(f->bytes + text->sh_offset, 0x66, text->sh_size); /* prefixes without end */
        assert_refused(f, "*cannot be decoded");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#ifndef __x86_64__
        g_test_message("made for programs of x86");
        return 77;
#endif
#define ADD(name, function) \
        g_test_add("/consumer/inspect-hostile/" name, Fixture, NULL, set_up, function, tear_down)
        ADD("cut", test_cut);
        ADD("shrinks", test_shrinks);
        ADD("no-program", test_no_program);
        ADD("headers-beyond", test_headers_beyond);
        ADD("segments-beyond", test_segments_beyond);
        ADD("sections-beyond", test_sections_beyond);
        ADD("frames", test_frames);
        ADD("many-notes", test_many_notes);
        ADD("semaphores", test_semaphores);
        ADD("sparse", test_sparse);
        ADD("quota", test_quota);
        ADD("no-instructions", test_no_instructions);
        return g_test_run();
}
