/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chunks in every order that a broker may have them: what is written, and what is reported. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* its secret */
#include <xxhash.h>

#include "fleet/reassembly.h"

#define SESSION "0123456789abcdef"

typedef struct Fixture {
        Reassembly *reassembly;
        Hash *hashes[_HASH_KIND_N];
        HashKind kind; /* that chunks are made with */
        FILE *out;
        GString *reports;
} Fixture;

static void on_report(const char *text, void *userdata) {
        g_string_append_printf(((Fixture *)userdata)->reports, "%s\n", text);
}

static void set_up(Fixture *f, gconstpointer data) {
        (void)data;
        f->out = tmpfile();
        f->reports = g_string_new("");
        g_assert_cmpint(reassembly_new(fileno(f->out), on_report, f, &f->reassembly), ==, 0);
        for (HashKind kind = 0; kind < _HASH_KIND_N; kind++)
                g_assert_cmpint(hash_new(kind, &f->hashes[kind]), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data) {
        (void)data;
        reassembly_free(f->reassembly);
        for (HashKind kind = 0; kind < _HASH_KIND_N; kind++)
                hash_free(f->hashes[kind]);
        fclose(f->out);
        g_string_free(f->reports, TRUE);
}

static void make_file_hash(Fixture *f, unsigned file, char ret[static HASH_DIGITS_MAX + 1]) {
        g_autoptr(GString) hashes = g_string_new("");

        for (unsigned number = 0; number < 3; number++) {
                g_autofree char *text = g_strdup_printf("%u.%u ", file, number);
                char digits[HASH_DIGITS_MAX + 1];

                hash_make(f->hashes[f->kind], text, strlen(text), digits);
                g_string_append(hashes, digits);
        }
        hash_make(f->hashes[f->kind], hashes->str, hashes->len, ret);
}

static void set_hash(Fixture *f, Chunk *chunk) {
        hash_make(f->hashes[f->kind], chunk->data, chunk->size, chunk->hash);
}

/* A chunk of a file of three: its text is "FILE.NUMBER ". */
static Chunk make(Fixture *f, unsigned file, unsigned number) {
        static _Thread_local char texts[64][32];
        static unsigned n;
        char *text = texts[n++ % G_N_ELEMENTS(texts)];
        Chunk chunk = {
                .session = SESSION,
                .file = file,
                .number = number,
                .previous = file - 1,
                .is_last = number == 2,
                .data = text,
                .size = (size_t)sprintf(text, "%u.%u ", file, number),
        };

        set_hash(f, &chunk);
        if (chunk.is_last) {
                chunk.file_bytes = 3 * chunk.size;
                make_file_hash(f, file, chunk.file_hash);
        }
        return chunk;
}

static void add(Fixture *f, unsigned file, unsigned number) {
        Chunk chunk = make(f, file, number);

        g_assert_cmpint(reassembly_add(f->reassembly, &chunk), ==, 0);
}

static void add_file(Fixture *f, unsigned file) {
        for (unsigned number = 0; number < 3; number++)
                add(f, file, number);
}

static void add_end(Fixture *f, unsigned last) {
        const Chunk chunk = { .session = SESSION,
                .file = last,
                .previous = last,
                .is_end = true,
                .data = "{}",
                .size = 2 };

        g_assert_cmpint(reassembly_add(f->reassembly, &chunk), ==, 0);
}

static void assert_written(Fixture *f, const char *text, const char *reports) {
        char got[1024] = "";

        g_assert_cmpint(reassembly_finish(f->reassembly), ==, 0);
        g_assert_cmpint(pread(fileno(f->out), got, sizeof(got) - 1, 0), >=, 0);
        g_assert_cmpstr(got, ==, text);
        g_assert_cmpstr(f->reports->str, ==, reports);
}

static void test_order(Fixture *f, gconstpointer data) {
        (void)data;
        add_file(f, 1);
        add_file(f, 2);
        add_end(f, 2);
        assert_written(f, "1.0 1.1 1.2 2.0 2.1 2.2 ", "");
        g_assert_true(reassembly_get_result(f->reassembly).is_ended);
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_files, ==, 2);
}

/* The shipper went back: chunks come twice, and one comes late. */
static void test_repeated(Fixture *f, gconstpointer data) {
        static const unsigned order[] = { 0, 2, 1, 0, 1, 2 };

        (void)data;
        for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
                add(f, 1, order[i]);
        add_file(f, 1);
        add(f, 2, 1);
        add_end(f, 2);
        add(f, 2, 2);
        add(f, 2, 0);
        assert_written(f, "1.0 1.1 1.2 2.0 2.1 2.2 ", "");
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_repeated, ==, 6);
        g_assert_true(reassembly_get_result(f->reassembly).is_ended);
}

static void test_gaps(Fixture *f, gconstpointer data) {
        (void)data;
        add_file(f, 1);
        add(f, 2, 0);
        add(f, 2, 2);
        add_file(f, 3);
        add_file(f, 6);
        add_end(f, 7);
        assert_written(f,
                        "1.0 1.1 1.2 3.0 3.1 3.2 6.0 6.1 6.2 ",
                        "file 2 is incomplete from chunk 1 on, and is left out\n"
                        "files after 3 up to 5 are missing\n"
                        "files after 6 up to 7 are missing\n");
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_gaps, ==, 3);
}

/* The oldest chunks are gone. */
static void test_beginning(Fixture *f, gconstpointer data) {
        (void)data;
        add(f, 4, 1);
        add(f, 4, 2);
        add_file(f, 5);
        add_end(f, 5);
        assert_written(f, "5.0 5.1 5.2 ", "file 4 lacks its first chunks, and is left out\n");
}

/* A crash has cut the last frame of a file: what is left of it is written, and reported. */
static void test_cut(Fixture *f, gconstpointer data) {
        Chunk last = make(f, 1, 2);

        (void)data;
        add(f, 1, 0);
        add(f, 1, 1);
        last.listed_bytes = 20;
        g_assert_cmpint(reassembly_add(f->reassembly, &last), ==, 0);
        add_end(f, 1);
        assert_written(f,
                        "1.0 1.1 1.2 ",
                        "file 1 was cut by a crash: 12 of 20 bytes could be read\n");
}

/* Another's data in the place of a chunk. */
static void test_wrong(Fixture *f, gconstpointer data) {
        Chunk chunk = make(f, 1, 1);

        (void)data;
        add(f, 1, 0);
        chunk.data = "x.x ";
        set_hash(f, &chunk);
        g_assert_cmpint(reassembly_add(f->reassembly, &chunk), ==, 0);
        add(f, 1, 1);
        add(f, 1, 2);
        add_file(f, 2);
        add_end(f, 2);
        assert_written(f,
                        "2.0 2.1 2.2 ",
                        "file 1: the broker has two versions of chunk 1, the first was taken\n"
                        "file 1 does not have its hash, and is left out\n");
}

/* A recording of an older version has SHA-256. */
static void test_old(Fixture *f, gconstpointer data) {
        (void)data;
        f->kind = HASH_SHA256;
        add_file(f, 1);
        add_file(f, 2);
        add_end(f, 2);
        assert_written(f, "1.0 1.1 1.2 2.0 2.1 2.2 ", "");
}

/* ktrace-ship was upgraded in the middle of a file, and has sent it again. */
static void test_upgraded(Fixture *f, gconstpointer data) {
        (void)data;
        f->kind = HASH_SHA256;
        add_file(f, 1);
        add(f, 2, 0);
        add(f, 2, 1);
        f->kind = HASH_XXH3;
        add_file(f, 2);
        add_file(f, 3);
        add_end(f, 3);
        assert_written(f, "1.0 1.1 1.2 2.0 2.1 2.2 3.0 3.1 3.2 ", "");
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_repeated, ==, 2);
}

/* The hash of a file is of neither kind: none is made up for it. */
static void test_no_kind(Fixture *f, gconstpointer data) {
        Chunk last = make(f, 1, 2);

        (void)data;
        add(f, 1, 0);
        add(f, 1, 1);
        last.file_hash[0] = '\0';
        g_assert_cmpint(reassembly_add(f->reassembly, &last), ==, 0);
        assert_written(f, "", "file 1 does not have its hash, and is left out\n");
}

/* XXH3 adds up the words of the data, and products of their halves. Where the lower half of a word
 * is that of its key, the product is 0. Then one word can be larger and another one smaller. */
static void test_collision(Fixture *f, gconstpointer data) {
        uint64_t secret[24], words[2][256] = {};
        Chunk chunk = { .session = SESSION, .file = 1, .size = sizeof(words[0]) };
        char digits[HASH_DIGITS_MAX + 1];

        (void)data;
        XXH3_generateSecret_fromSeed(secret, 0);
        for (size_t i = 0; i < 2; i++) {
                words[i][0] = secret[0] + (i << 32);
                words[i][8] = secret[1] - (i << 32);
        }
        chunk.data = words[0];
        set_hash(f, &chunk);
        g_assert_cmpint(reassembly_add(f->reassembly, &chunk), ==, 0);
        memcpy(digits, chunk.hash, sizeof(digits));
        chunk.data = words[1];
        set_hash(f, &chunk);
        g_assert_cmpstr(chunk.hash, ==, digits);
        g_assert_cmpint(reassembly_add(f->reassembly, &chunk), ==, 0);
        assert_written(f,
                        "",
                        "file 1: the broker has two versions of chunk 0, the first was taken\n");
}

/* A thief has stored a file before the machine did: it has correct hashes, but there are two. */
static void test_versions(Fixture *f, gconstpointer data) {
        Chunk forged = make(f, 2, 0);

        (void)data;
        add_file(f, 1);
        add_file(f, 2);
        add(f, 1, 2);
        forged.data = "2.x ";
        set_hash(f, &forged);
        g_assert_cmpint(reassembly_add(f->reassembly, &forged), ==, 0);
        add_end(f, 2);
        assert_written(f,
                        "1.0 1.1 1.2 2.0 2.1 2.2 ",
                        "file 2: the broker has two versions of chunk 0, the first was taken\n");
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_repeated, ==, 2);
}

/* A thief has stored the true data first, and hides that a crash has cut the file. */
static void test_hidden_cut(Fixture *f, gconstpointer data) {
        Chunk last = make(f, 1, 2);

        (void)data;
        add_file(f, 1);
        last.listed_bytes = last.file_bytes + 100;
        g_assert_cmpint(reassembly_add(f->reassembly, &last), ==, 0);
        add_end(f, 1);
        assert_written(f,
                        "1.0 1.1 1.2 ",
                        "file 1: the broker has two versions of chunk 2, the first was taken\n");
}

/* A thief has stored an end too early: the recording is not cut off in silence. */
static void test_after_end(Fixture *f, gconstpointer data) {
        (void)data;
        add_file(f, 1);
        add_end(f, 1);
        add(f, 1, 2);
        add_end(f, 1);
        add_file(f, 2);
        add_end(f, 2);
        assert_written(f, "1.0 1.1 1.2 ", "4 messages came too late, and are left out\n");
}

/* A thief has skipped a file that was to come. */
static void test_skipped(Fixture *f, gconstpointer data) {
        Chunk forged = make(f, 3, 0);

        (void)data;
        add_file(f, 1);
        forged.previous = 1;
        g_assert_cmpint(reassembly_add(f->reassembly, &forged), ==, 0);
        add_file(f, 2);
        add(f, 3, 1);
        add(f, 3, 2);
        add_end(f, 3);
        assert_written(f,
                        "1.0 1.1 1.2 3.0 3.1 3.2 ",
                        "3 messages came too late, and are left out\n");
}

/* The machine has forgotten an acknowledgement, and does not have those files any more. */
static void test_forgotten(Fixture *f, gconstpointer data) {
        Chunk chunk = make(f, 3, 0);

        (void)data;
        add_file(f, 1);
        add_file(f, 2);
        chunk.previous = 1;
        g_assert_cmpint(reassembly_add(f->reassembly, &chunk), ==, 0);
        add(f, 3, 1);
        add(f, 3, 2);
        add_file(f, 2);
        add_end(f, 1);
        assert_written(f, "1.0 1.1 1.2 2.0 2.1 2.2 3.0 3.1 3.2 ", "");
}

/* More chunks than are held: hostile, or a long gap. */
static void test_many(Fixture *f, gconstpointer data) {
        (void)data;
        for (unsigned file = 10; file < 100; file++)
                add(f, file, 1);
        add_file(f, 200);
        g_assert_cmpint(reassembly_finish(f->reassembly), ==, 0);
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_files, ==, 1);
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_gaps, ==, 91);
}

/* A file without an end. The files after it are taken. */
static void test_endless(Fixture *f, gconstpointer data) {
        Chunk chunk = make(f, 1, 0);

        (void)data;
        for (chunk.number = 0; chunk.number < 70000; chunk.number++)
                g_assert_cmpint(reassembly_add(f->reassembly, &chunk), ==, 0);
        add_file(f, 2);
        add_end(f, 2);
        g_assert_nonnull(strstr(
                        f->reports->str, "file 1 is larger than a file of a recording can be"));
        g_assert_cmpuint(reassembly_get_result(f->reassembly).n_files, ==, 1);
}

/* The disk of the temporary file is full, and not that of the output. */
static void test_full(Fixture *f, gconstpointer data) {
        struct rlimit before;

        (void)data;
        (void)signal(SIGXFSZ, SIG_IGN);
        g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
        add(f, 1, 0);
        add(f, 1, 1);
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 8, before.rlim_max }), ==, 0);
        Chunk last = make(f, 1, 2);
        int r = reassembly_add(f->reassembly, &last);
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
        g_assert_cmpint(r, ==, -EFBIG);
        g_assert_true(reassembly_get_result(f->reassembly).has_no_draft);
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*test)(Fixture *f, gconstpointer data);
        } tests[] = {
                { "/reassembly/order", test_order },
                { "/reassembly/repeated", test_repeated },
                { "/reassembly/gaps", test_gaps },
                { "/reassembly/beginning", test_beginning },
                { "/reassembly/cut", test_cut },
                { "/reassembly/wrong", test_wrong },
                { "/reassembly/old", test_old },
                { "/reassembly/upgraded", test_upgraded },
                { "/reassembly/no-kind", test_no_kind },
                { "/reassembly/collision", test_collision },
                { "/reassembly/versions", test_versions },
                { "/reassembly/hidden-cut", test_hidden_cut },
                { "/reassembly/after-end", test_after_end },
                { "/reassembly/skipped", test_skipped },
                { "/reassembly/forgotten", test_forgotten },
                { "/reassembly/many", test_many },
                { "/reassembly/endless", test_endless },
                { "/reassembly/full", test_full },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, NULL, set_up, tests[i].test, tear_down);
        return g_test_run();
}
